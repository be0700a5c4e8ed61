// A perf event on the CPU time of a thread: more exact than timers, where it is permitted.
#pragma once

#include <stdint.h>

namespace sonde::cpu {

// Whether the kernel permits such events here.
bool events_work(uint64_t period_ns);

// An event that lives as long as its page is mapped: the program sees no descriptor of ours, and
// cannot close it.
struct Event {
  void* page = nullptr;  // nullptr: none
  int number = -1;       // what its signals say they come from
  uint64_t period_ns = 0;
};

// Sends `signal` to the calling thread after each period of its CPU time, if it is in user mode
// then: so no system call is interrupted.
Event open_event(uint64_t period_ns, int signal);
void close_event(Event& event);

}  // namespace sonde::cpu
