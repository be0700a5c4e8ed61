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
// Of another thread, which may be looking at its page: that stays readable, and there, for good.
void close_event_of_another(Event& event);

// Another number whenever the thread that has the event gets a CPU (from Linux 4.1 on). `page`: the
// event's.
uint32_t turn_of(const void* page);

}  // namespace sonde::cpu
