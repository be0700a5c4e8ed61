// The agent's state: one per process image, plus two words per thread.
#pragma once

#include <limits.h>
#include <stdint.h>

#include "agent/platform.h"
#include "base/pinned.h"
#include "wire/chunk.h"

namespace sonde::agent {

struct Ring;

struct State {
  wire::SessionControl* control = nullptr;  // nullptr: not being recorded
  wire::ClockKind clock = wire::ClockKind::kMonotonic;
  uint64_t spool = 0;        // number of this process image, as in its folder's name
  uint32_t pid = 0;          // likewise; a process that shares its memory has another
  uint32_t announced = 0;    // 1: the recorder knows the process, by the name of its spool
  uint64_t start_ticks = 0;  // of the process image
  uint32_t has_spool = 0;    // 0: no folder and ring 0 yet (before the first event after a fork)
  uint32_t silent = 0;       // 1: in a sandbox, where the agent may do nothing any more
  uint32_t waited_for = 0;   // not 0: a thread of ours sleeps until recording is switched on
  uint32_t left = 0;         // 1: was attached to and has left the recording
  int balance = 0;           // recording while > 0 (sonde_start and sonde_stop)
  uint32_t was_off = 0;      // 1: recording may have been off, as it was switched on since
  char* unforked = nullptr;  // points to kSeen; to 0 in a child made by any kind of fork
  uint32_t forked = 0;       // 1 in a child made by fork that has not called exec
  uint32_t generation = 1;   // 1 + the forks between the start of the program and this process
  uint32_t next_ring = 1;
  Ring* parked = nullptr;  // rings whose threads have ended, for reuse by new threads
  void (*take_stack)(uint64_t correlation) = nullptr;  // called at each call that launches work
  BoundedLock parked_lock;
  BoundedLock spool_lock{BoundedLock::Patience::kLong};
  uint64_t retry_at = 0;  // ticks: no attempt to make a chunk before then
  // Why the last attempt to make the spool, or a ring, failed.
  wire::DropReason out_because = wire::DropReason::kSystem;
  Ring* rings = nullptr;  // all rings, the newest first
};

extern State g_state;

// All zeros at first, so that the library's file has none of it.
struct Paths {
  char session[PATH_MAX];
  char control[PATH_MAX];  // in `session`; ready, as threads with small stacks ask for it
  char folder[PATH_MAX];   // of this process' chunks
};
extern Paths g_paths;

// What State::unforked points to. In a child that has not been noticed yet it is 0: the kernel
// wiped it.
enum : char { kUnseen = 0, kSeen = 1, kBeingSeen = 2 };

inline bool is_new_child() {
  return g_state.unforked != nullptr && load_acquire(*g_state.unforked) != kSeen;
}

// The range of addresses in which a thread's stack has been seen.
struct StackRange {
  uintptr_t low = 0;
  uint32_t bytes = 0;
  bool has(uintptr_t address) const { return address - low < bytes; }
};

struct ThreadState {
  Ring* ring = nullptr;
  uint32_t busy = 0;             // inside the agent: an event from a signal handler is dropped now
  uint32_t tid = 0;              // the thread this state belongs to; 0: none yet
  StackRange stack;              // where that thread ran when it was first seen
  StackRange other_stack;        // where it ran last, if elsewhere: signal handler, coroutine
  uint32_t generation = 0;       // State::generation when `tid` was determined
  uint16_t forking = 0;          // nested forks of this thread, if holds_definitions()
  uint16_t shield_units = 0;     // size of the shield in kChunkBytes
  uint32_t fork_generation = 0;  // State::generation at the first of these
  // A chunk that was being written to when a signal handler forked.
  wire::ChunkHeader* shield = nullptr;
};
extern constinit thread_local ThreadState t_state;

// Whether this thread holds the lock of the definitions, because it is about to fork or has just
// done so. Not in a child whose other thread has begun the new process, nor in a new recording.
inline bool holds_definitions() {
  return t_state.forking != 0 && t_state.fork_generation == g_state.generation;
}

// Whether t_state belongs to the calling thread. It does not in a thread made by clone() without
// CLONE_SETTLS, or in a process made with CLONE_VM: these share their creator's. They are
// recognised by their stack, so that no event needs a system call to find out which thread records
// it.
bool owns_state_elsewhere(uintptr_t here);
inline bool owns_state() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return t_state.stack.has(here) || owns_state_elsewhere(here);
}

// 0 in a sandbox where reading the time may be forbidden, and only there.
inline uint64_t ticks() {
  if (g_state.clock != wire::ClockKind::kTsc && load(g_state.silent) != 0) return 0;
  return wire::read_ticks(g_state.clock);
}

inline bool recording() {
  const uint32_t on = load(g_state.control->recording);
  return on == wire::kOn || (on == wire::kAsProcess && load(g_state.balance) > 0);
}

// Whether all of this process has been recorded so far.
inline bool was_always_on() {
  const auto& control = *g_state.control;
  return recording() && load(control.recording) == wire::kAsProcess && control.autostart != 0 &&
         load(g_state.was_off) == 0;
}

// Adds one start to the process' balance, and wakes threads that wait for recording.
void switch_on();

void count_drop(wire::DropSource source, wire::DropReason reason, uint64_t count = 1);

// Lets functions called from within the agent call it again, at a point where nothing is half done.
class Outside : Pinned {
 public:
  Outside() {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    t_state.busy = 0;
  }
  ~Outside() {
    t_state.busy = 1;
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
  }
};

// Marks the thread as inside the agent for a scope; false if it already was, or if the state
// belongs to another thread.
class Inside : Pinned {
 public:
  Inside() : entered_(t_state.busy == 0 && owns_state()) {
    if (entered_) t_state.busy = 1;
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
  }
  ~Inside() {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    if (entered_) t_state.busy = 0;
  }
  explicit operator bool() const { return entered_; }
  // Why the thread could not enter.
  static wire::DropReason reason() {
    return owns_state() ? wire::DropReason::kReentrant : wire::DropReason::kNoThreadState;
  }

 private:
  bool entered_;
};

}  // namespace sonde::agent
