// Threads that begin while nothing is recorded (sonde record --no-start): a clock is most of what
// it costs to sample a thread that soon ends, so they get theirs when recording is switched on,
// from a thread of ours that sleeps until then. It is there while the program has threads that wait
// for it, and at most a second longer.
#pragma once

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

void prepare_waiting(const struct sonde_agent* agent);
// For a thread that is about to be made.
void let_wait(ThreadSampler& sampler);
// Threads that wait get their clocks now, and ours has ended when this returns, because the program
// wants to be, or to end as, a process of one thread.
void end_waiting();
// It need not end where the program has other threads anyway.
void end_idle_waiting();
void waiting_after_fork();

}  // namespace sonde::cpu
