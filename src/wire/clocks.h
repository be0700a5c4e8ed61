// Reading the clock that stamps events, and all clocks of the host at one moment. Used by the
// agent, which stamps chunks and events, and by the recorder, which relates the clocks to each
// other; so both mean the same by "ticks". Compiled into the traced program: libc only.
#pragma once

#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "base/time.h"
#include "wire/chunk.h"

namespace sonde::wire {

inline uint64_t read_ticks(ClockKind kind) {
#ifdef __x86_64__
  if (kind == ClockKind::kTsc) return __rdtsc();
#endif
  (void)kind;
  return static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

// Repeats up to `kTries` times if the thread was preempted between the clocks: the readings must be
// of one moment. `good_ticks` is the spread that is accepted at once; the default is a microsecond
// of a TSC.
inline ClockReading read_clocks(ClockKind kind, uint64_t good_ticks = 3000) {
  constexpr int kTries = 5;
  ClockReading best = {};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kTries && best_width > good_ticks; ++i) {
    ClockReading reading = {};
    reading.ticks_before = read_ticks(kind);
    reading.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    reading.ticks_after = read_ticks(kind);
    reading.raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
    reading.realtime_ns = clock_ns(CLOCK_REALTIME);
    reading.boottime_ns = clock_ns(CLOCK_BOOTTIME);
    const uint64_t width = read_ticks(kind) - reading.ticks_before;
    if (width >= best_width) continue;
    best = reading;
    best_width = width;
  }
  return best;
}

}  // namespace sonde::wire
