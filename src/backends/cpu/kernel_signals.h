// Signals by raw system calls: libc's functions belong to the program (and are interposed,
// signal_calls.cpp), and a sanitizer in the program delays handlers that were installed through
// them.
#pragma once

#include <signal.h>
#include <stdint.h>

namespace sonde::cpu {

constexpr int kSignals = 64;

constexpr uint64_t bit_of(int number) { return uint64_t{1} << ((number - 1) & 63); }

struct KernelAction {
  void (*handler)(int, siginfo_t*, void*) = nullptr;  // or SIG_DFL or SIG_IGN
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  uint64_t mask = 0;  // of bit_of()
};

inline bool is_default(const KernelAction& action) { return action.handler == nullptr; }
inline bool is_ignored(const KernelAction& action) {
  return reinterpret_cast<uintptr_t>(action.handler) == 1;
}

bool get_action(int number, KernelAction& action);
bool set_action(int number, const KernelAction& action);
// Ignoring a signal, even for a moment, discards it if it is pending.
void ignore(int number);
// `restart`: system calls that it interrupts are restarted.
void install(int number, void (*handler)(int, siginfo_t*, void*), bool restart);

// Blocks signals in the calling thread; returns the previous mask.
uint64_t block(uint64_t mask);
uint64_t unblock(uint64_t mask);
uint64_t set_mask(uint64_t mask);
// Whether a thread of this process blocks the signal.
bool blocks(int tid, int number);

// Takes a pending signal of the calling thread, which blocks it; 0: none.
int next_pending(uint64_t mask, siginfo_t& info);
// Sends it to the calling thread again, with the same siginfo.
void send_again(const siginfo_t& info);

}  // namespace sonde::cpu
