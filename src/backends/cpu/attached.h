// Attaching to a running process (sonde record --pid): the library was injected while the process
// ran, so the process' calls do not go through it, and its threads started without us.
//
// A thread of ours finds the others in /proc/self/task and gives each a timer on its CPU time,
// which fires only while the thread runs: no system call is interrupted. At its first signal, a
// thread adopts the sampler that was prepared for it. When the recording ends, the signal, the
// timers and our thread are released; the library stays, inactive, until the process is attached to
// again.
#pragma once

#include <signal.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// The sampler for the calling thread, which got this timer signal.
ThreadSampler* adopt(ThreadSampler* own, const siginfo_t& info);

}  // namespace sonde::cpu
