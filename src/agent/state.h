// The agent's state: one per process image, plus two words per thread.
#pragma once

#include <limits.h>
#include <stdint.h>

#include "agent/platform.h"
#include "wire/chunk.h"

namespace sonde::agent {

struct Ring;

struct State {
  wire::SessionControl* control = nullptr;  // nullptr: not being recorded
  wire::ClockKind clock = wire::ClockKind::kMonotonic;
  uint64_t spool = 0;        // this process image, as in its folder's name
  uint32_t has_spool = 0;    // 0: no folder and ring 0 yet (before the first event of a fork)
  int balance = 0;           // recording while > 0 (sonde_start and sonde_stop)
  char* unforked = nullptr;  // shows 1, and 0 in a child made by any kind of fork
  uint32_t forked = 0;       // 1 in a child made by fork that has not exec'ed
  uint32_t next_ring = 1;
  Ring* parked = nullptr;  // rings whose threads are gone, for the next threads
  void (*take_stack)(uint64_t correlation) = nullptr;  // at each call that launches work
  BoundedLock parked_lock;
  BoundedLock spool_lock;
  uint64_t retry_at = 0;  // ticks: no attempt to make a chunk before
  char session[PATH_MAX] = {};
  char folder[PATH_MAX] = {};  // of this process' chunks
};

extern State g_state;

struct ThreadState {
  Ring* ring = nullptr;
  uint32_t busy = 0;  // inside the agent: an event from a signal handler now is dropped
};
extern constinit thread_local ThreadState t_state;

inline uint64_t ticks() { return wire::read_ticks(g_state.clock); }

inline bool recording() {
  return load(g_state.balance) > 0 && load(g_state.control->recording) != 0;
}

void count_drop(wire::DropSource source, wire::DropReason reason, uint64_t count = 1);

// Lets what is called from within the agent call it again, where nothing is half done.
class Outside {
 public:
  Outside() {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    t_state.busy = 0;
  }
  ~Outside() {
    t_state.busy = 1;
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};

// Marks the thread as inside the agent for a scope; false if it already was.
class Inside {
 public:
  Inside() : entered_(t_state.busy == 0) {
    if (entered_) t_state.busy = 1;
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
  }
  ~Inside() {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    if (entered_) t_state.busy = 0;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace sonde::agent
