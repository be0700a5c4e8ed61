// Looking at threads that do not run: from a thread of our own, at the rate at which running ones
// are sampled. No signal is sent, so no system call is ended early.
//
// A thread whose CPU clock stands still has not moved: neither has its stack, which is taken once
// and recorded with the time for which it stood there. The kernel tells where a blocked thread left
// user mode (/proc/self/task/TID/syscall); its clock, read before and after, tells whether what was
// read belongs together.
#pragma once

#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::cpu {

// Starts the thread, or leaves a diagnostic that says why not.
void watch_blocked(const struct sonde_agent* agent, uint32_t period_ns, uint32_t own_module);

// Where a thread left user mode. False if it runs, or is about to.
bool where_blocked(int tid, uint64_t& pc, uint64_t& stack_pointer);

// The thread did not come along to the child: another one is started.
void watch_again_in_child();

// Some calls are refused to a process of several threads: the one that looks is away between these
// two. False: there is none.
bool pause_watch();
void resume_watch();

// Until a thread of ours, which was told to end, is not known to the kernel any more; on a machine
// however busy, for three seconds. 0: its number is not known yet.
void wait_until_gone(const int& its_tid);

}  // namespace sonde::cpu
