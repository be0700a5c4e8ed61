// A perf event on a thread's CPU time: more precise than a timer, where it is permitted.
#pragma once

#include <stdint.h>

namespace sonde::cpu {

// Whether the kernel permits such events.
bool events_work(uint64_t period_ns);

// An event that lives as long as its page is mapped: its descriptor is closed at once, so the
// program neither sees nor closes it.
struct Event {
  void* page = nullptr;  // nullptr: none
  int number = -1;       // si_fd in its signals
  uint64_t period_ns = 0;
};

// Sends `signal` to the calling thread after each period of its CPU time, unless the thread is in
// the kernel at that moment: so no system call is interrupted.
Event open_event(uint64_t period_ns, int signal);
void close_event(Event& event);
// For an event of another thread, which may be reading its page: the page stays mapped and
// readable.
void close_event_of_another(Event& event);

// A number that changes whenever the event's thread is scheduled in (Linux 4.1 and later). `page`:
// the event's.
uint32_t turn_of(const void* page);

}  // namespace sonde::cpu
