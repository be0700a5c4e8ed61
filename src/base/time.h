// The clock of the tool's own waiting.
#pragma once

#include <time.h>

#include <cstdint>

namespace sonde {

inline int64_t monotonic_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

}  // namespace sonde
