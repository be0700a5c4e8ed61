// A thread's CPU time, read in its own signal handler. Asking the kernel takes half a microsecond
// on a virtual machine. If the thread has not been switched out since the last reading, which one
// of its perf events shows, the elapsed wall time is added to that reading instead.
#pragma once

#include <stdint.h>
#include <time.h>

#include "backends/cpu/perf_event.h"
#include "base/time.h"

namespace sonde::cpu {

class ThreadClock {
 public:
  // `page` is that of a perf event of the calling thread, or nullptr.
  uint64_t now_ns(const void* page) {
    const int64_t at_ns = clock_ns(CLOCK_MONOTONIC);
    // Read after the time, so that the time belongs to that turn.
    if (page != nullptr && page == page_ && turn_of(page) == turn_ && at_ns - at_ns_ < kLongest) {
      return cpu_ns_ + static_cast<uint64_t>(at_ns - at_ns_);
    }
    return ask(page);
  }
  // The events were closed: another event may get the same page.
  void forget() { page_ = nullptr; }

 private:
  // Interrupts and steal time count as wall time but not as CPU time, so an extrapolation must be
  // short.
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
  int64_t at_ns_ = 0;  // when cpu_ns_ was read
};

}  // namespace sonde::cpu
