/* CPU time of this thread, for programs and measurements: wall time says little on a machine with
 * other work. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
