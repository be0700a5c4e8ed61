// Signals as the kernel has them, by system calls: libc's functions are the program's (and ours,
// signal_calls.cpp), and a sanitizer in the program puts off the handlers installed by them.
#pragma once

#include <signal.h>
#include <stdint.h>

namespace sonde::cpu {

constexpr int kSignals = 64;

constexpr uint64_t bit_of(int number) { return uint64_t{1} << (number - 1); }

struct KernelAction {
  void (*handler)(int, siginfo_t*, void*) = nullptr;  // or one of the two numbers below
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
// A signal that is ignored, for a moment even, is gone wherever it was still on its way.
void ignore(int number);
// `restart`: system calls that it interrupts are begun again.
void install(int number, void (*handler)(int, siginfo_t*, void*), bool restart);

// Of the calling thread; what it was before.
uint64_t block(uint64_t mask);
uint64_t set_mask(uint64_t mask);

// One that waits for the calling thread, which blocks it; 0: none.
int next_pending(uint64_t mask, siginfo_t& info);
// To the calling thread again, as it was.
void send_again(const siginfo_t& info);

}  // namespace sonde::cpu
