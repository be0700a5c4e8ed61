// A process that runs already and is attached to (sonde record --pid): the library was brought in
// while it ran, so its calls do not come through it, and its threads began without us.
//
// A thread of ours finds the others in /proc/self/task and gives each a timer on its CPU time,
// which a thread notices only while it runs: no system call is ended early. At its first signal a
// thread takes over what was prepared for it. When the recording ends the signal is given back, the
// timers and our thread are gone, and the library stays, and does nothing, until the process is
// attached again.
#pragma once

#include <signal.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// What the calling thread, which got this signal of a timer, is sampled with.
ThreadSampler* adopt(ThreadSampler* own, const siginfo_t& info);

}  // namespace sonde::cpu
