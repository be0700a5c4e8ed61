// Reading the host's clocks as integer nanoseconds. Used on both sides; libc only.
#pragma once

#include <stdint.h>
#include <time.h>

namespace sonde {

inline int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

inline int64_t monotonic_now_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace sonde
