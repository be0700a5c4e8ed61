// Whether a time in a trace is plausible. Used by importers and the loader.
#pragma once

#include <stdint.h>

namespace sonde {

// A trace's clock counts from 1970, from boot or from the start of the trace, so no time is before
// 1897 or after 2116, and nothing takes longer than about a year (ends before starts are checked
// elsewhere). Differences of such times fit into 64 bits.
inline bool is_possible_span(int64_t start_ns, int64_t end_ns) {
  constexpr int64_t kFirst = -(INT64_C(1) << 61), kLast = INT64_C(1) << 62;
  constexpr int64_t kLongest = INT64_C(1) << 55;
  const bool possible =
      start_ns >= kFirst && start_ns <= kLast && end_ns >= kFirst && end_ns <= kLast;
  return possible && end_ns - start_ns <= kLongest;
}

}  // namespace sonde
