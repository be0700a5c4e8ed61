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
  uint64_t spool = 0;        // this process image, as in its folder's name
  uint32_t pid = 0;          // likewise; not that of a process that shares its memory
  uint32_t announced = 0;    // 1: the recorder knows of the process, by the name of its spool
  uint64_t start_ticks = 0;  // of the process image
  uint32_t has_spool = 0;    // 0: no folder and ring 0 yet (before the first event of a fork)
  uint32_t silent = 0;       // 1: in a sandbox, where nothing may be done any more
  uint32_t waited_for = 0;   // not 0: a thread of ours sleeps until recording is switched on
  uint32_t left = 0;         // 1: was attached to, and has left the recording
  int balance = 0;           // recording while > 0 (sonde_start and sonde_stop)
  char* unforked = nullptr;  // shows kSeen, and 0 in a child made by any kind of fork
  uint32_t forked = 0;       // 1 in a child made by fork that has not exec'ed
  uint32_t generation = 1;   // forks between the start of the program and this process, and 1
  uint32_t next_ring = 1;
  Ring* parked = nullptr;  // rings whose threads are gone, for the next threads
  void (*take_stack)(uint64_t correlation) = nullptr;  // at each call that launches work
  BoundedLock parked_lock;
  BoundedLock spool_lock{BoundedLock::Patience::kLong};
  uint64_t retry_at = 0;  // ticks: no attempt to make a chunk before
  // Why the last attempt to make the spool, or a ring, failed.
  wire::DropReason out_because = wire::DropReason::kSystem;
  Ring* rings = nullptr;  // all that were made, the newest first
  char session[PATH_MAX] = {};
  char folder[PATH_MAX] = {};  // of this process' chunks
};

extern State g_state;

// What State::unforked shows. A child that nobody has noticed yet finds 0, which the kernel wiped.
enum : char { kUnseen = 0, kSeen = 1, kBeingSeen = 2 };

inline bool is_new_child() {
  return g_state.unforked != nullptr && load_acquire(*g_state.unforked) != kSeen;
}

// Addresses that a thread's stack was seen at.
struct StackRange {
  uintptr_t low = 0;
  uint32_t bytes = 0;
  bool has(uintptr_t address) const { return address - low < bytes; }
};

struct ThreadState {
  Ring* ring = nullptr;
  uint32_t busy = 0;          // inside the agent: an event from a signal handler now is dropped
  uint32_t tid = 0;           // whose state this is; 0: nobody's yet
  StackRange stack;           // where that thread ran when it was first asked for
  StackRange other_stack;     // and last, if elsewhere: of a signal handler, of a coroutine
  uint32_t generation = 0;    // of the process when `tid` was right: State::generation
  uint16_t forking = 0;       // forks that hold the lock of the definitions, one in another
  uint16_t shield_units = 0;  // size of the shield in kChunkBytes
  wire::ChunkHeader* shield = nullptr;  // was being written to when a signal handler forked
};
extern constinit thread_local ThreadState t_state;

// Whether t_state is the calling thread's own. It is not in one that was made with clone() without
// CLONE_SETTLS, or that is a process of its own with CLONE_VM: such threads share their creator's.
// They are known by their stack, so that no event needs a system call to see who records it.
bool owns_state_elsewhere(uintptr_t here);
inline bool owns_state() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return t_state.stack.has(here) || owns_state_elsewhere(here);
}

// 0 in a sandbox, where reading the time may be forbidden, and in no other case.
inline uint64_t ticks() {
  if (g_state.clock != wire::ClockKind::kTsc && load(g_state.silent) != 0) return 0;
  return wire::read_ticks(g_state.clock);
}

inline bool recording() {
  const uint32_t on = load(g_state.control->recording);
  return on == wire::kOn || (on == wire::kAsProcess && load(g_state.balance) > 0);
}

// The process may be recorded from here on.
void switch_on();

void count_drop(wire::DropSource source, wire::DropReason reason, uint64_t count = 1);

// Lets what is called from within the agent call it again, where nothing is half done.
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

// Marks the thread as inside the agent for a scope; false if it already was, or if the state is
// another thread's.
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
  // Why not, where that is so.
  static wire::DropReason reason() {
    return owns_state() ? wire::DropReason::kReentrant : wire::DropReason::kNoThreadState;
  }

 private:
  bool entered_;
};

}  // namespace sonde::agent
