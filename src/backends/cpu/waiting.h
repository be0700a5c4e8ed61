// Threads that begin while nothing is recorded (sonde record --no-start). For a thread that soon
// ends, most of the cost of sampling is starting its clock, so the clock starts when recording is
// switched on: a starter thread of ours sleeps until then. It exists while threads of the program
// wait for it, and at most a second longer.
#pragma once

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

void prepare_waiting(const struct sonde_agent* agent);
// Called for a thread that is about to be created.
void let_wait(ThreadSampler& sampler);
// Starts the clocks of waiting threads now, and returns when the starter thread has ended, because
// the program needs to be, or to end as, a single-threaded process.
void end_waiting();
// Ends the starter thread if no thread waits for it.
void end_idle_waiting();
void waiting_after_fork();

}  // namespace sonde::cpu
