/* Clocks in nanoseconds, for programs and measurements. CPU time of this thread, because wall time
 * says little on a machine with other work. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t cpu_ns(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
