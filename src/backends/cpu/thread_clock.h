// The CPU time of a thread, read in its own signal handler. The kernel is asked for it by a system
// call, half a microsecond on a virtual machine, unless it is known from before and the thread has
// kept its CPU since, as one of its perf events shows: then as much has passed as of time.
#pragma once

#include <stdint.h>
#include <time.h>

#include "backends/cpu/perf_event.h"
#include "base/time.h"

namespace sonde::cpu {

class ThreadClock {
 public:
  // `page`: of a perf event of the calling thread, or nullptr.
  uint64_t now_ns(const void* page) {
    const int64_t at_ns = clock_ns(CLOCK_MONOTONIC);
    // Looked at after the time, which is that of the thread's turn then.
    if (page != nullptr && page == page_ && turn_of(page) == turn_ && at_ns - at_ns_ < kLongest) {
      return cpu_ns_ + static_cast<uint64_t>(at_ns - at_ns_);
    }
    return ask(page);
  }
  // The events are closed: another one may have its page where theirs was.
  void forget() { page_ = nullptr; }

 private:
  // Interrupts, and what a host takes from its virtual machine, are time but no CPU time.
  static constexpr int64_t kLongest = 20'000'000;

  uint64_t ask(const void* page) {
    const uint32_t turn = page != nullptr ? turn_of(page) : 0;
    at_ns_ = clock_ns(CLOCK_MONOTONIC);
    cpu_ns_ = static_cast<uint64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    const bool kept = page != nullptr && turn_of(page) == turn;
    page_ = kept ? page : nullptr;
    turn_ = turn;
    return cpu_ns_;
  }

  const void* page_ = nullptr;
  uint32_t turn_ = 0;
  uint64_t cpu_ns_ = 0;
  int64_t at_ns_ = 0;  // when cpu_ns_ was true
};

}  // namespace sonde::cpu
