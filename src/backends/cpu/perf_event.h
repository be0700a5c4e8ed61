// A perf event on the CPU time of a thread, for rates that the kernel's timers do not reach.
#pragma once

#include <stdint.h>

namespace sonde::cpu {

// Whether the kernel permits such events here.
bool events_work(uint64_t period_ns);

// An event that sends `signal` to the calling thread after each period of its CPU time, if it was
// in user mode then: so no system call is interrupted. -1 on failure.
int open_event(uint64_t period_ns, int signal);
// From now to the next signal, and to those after it.
bool set_period(int event, uint64_t period_ns);
// Not if the program has closed it and uses its number for something else.
void close_event(int event, int signal);

}  // namespace sonde::cpu
