// Threads that block the sampling signal, as libraries start threads of their own that are to
// receive no signals. Their samples are no loss, but a reader has to know of their CPU time.
#pragma once

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// At a thread's end, or the program's: notes the CPU time since the last sample if the thread
// blocks the signal. What of it was recorded is only known if recording was never off.
void note_blocked(const ThreadSampler& sampler, uint64_t period_ns);
// At the program's end: says what was noted.
void tell_blocked(const struct sonde_agent* agent);
// In a forked child.
void forget_blocked();

}  // namespace sonde::cpu
