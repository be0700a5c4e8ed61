// Sampling of blocked threads: a thread of ours looks at them at the rate at which running ones are
// sampled. It sends no signals, so it interrupts no system calls.
//
// A thread whose CPU clock has not advanced has not moved, and neither has its stack, which is
// taken once and recorded with the time that the thread stayed there. The kernel says where a
// blocked thread left user mode (/proc/self/task/TID/syscall); reading its CPU clock before and
// after shows whether that data is consistent.
#pragma once

#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::cpu {

// Starts the thread, or leaves a diagnostic with the reason why not.
void watch_blocked(const struct sonde_agent* agent, uint32_t period_ns, uint32_t own_module);

// Where a thread left user mode. False if it runs, or is about to.
bool where_blocked(int tid, uint64_t& pc, uint64_t& stack_pointer);

// In a forked child: starts another thread, since the parent's does not exist there.
void watch_again_in_child();

// Some calls fail in a process of several threads: the watching thread ends before them and is
// started again after them. False: there was none.
bool pause_watch();
void resume_watch();

// Waits until the kernel no longer knows a thread of ours that was told to end; at most three
// seconds. `its_tid` 0: not known yet.
void wait_until_gone(const int& its_tid);

}  // namespace sonde::cpu
