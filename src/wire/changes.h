// Sleeping until recording is switched: a word of the control file counts the switches, and waiters
// in any process of the session sleep on it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "wire/chunk.h"

namespace sonde::wire {

// Call after changing a switch.
inline void tell_change(SessionControl& control) {
  __atomic_fetch_add(&control.changes, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &control.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Waits until the count differs from `seen`, at most that long; may return early.
inline void wait_for_change(SessionControl& control, uint32_t seen, time_t seconds) {
  const timespec most = {seconds, 0};
  syscall(SYS_futex, &control.changes, FUTEX_WAIT, seen, &most, nullptr, 0);
}

}  // namespace sonde::wire
