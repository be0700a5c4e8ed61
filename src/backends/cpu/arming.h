// The sampling clock of each thread: a timer or perf events on its CPU time, which send it the
// signal. Changed by the thread itself, and by the thread that switches all threads to another
// signal.
#pragma once

#include <stdint.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// Call before any thread is armed, with or without a clock.
void prepare_arming(const struct sonde_agent* agent);
// Sets the period. Checks whether perf events are permitted, unless that can wait for the first
// sample.
void prepare_clocks(uint32_t period_ns);
// The same with timers only, which need no file descriptors: for a process that is attached to.
void prepare_timers(uint32_t period_ns);
bool clocks_are_events();  // as far as known
// The rate of the kernel tick, at which timers are checked.
uint32_t ticks_per_second();

ThreadSampler* take_sampler();  // nullptr: no memory
void give_back(ThreadSampler* sampler);
// All samplers ever taken, linked by next_of_all.
ThreadSampler* all_samplers();

// For the calling thread. `with_clock`: sample it from now on or, if it waits, from when recording
// is switched on.
void arm(ThreadSampler* sampler, bool with_clock);
// Starts the clocks of all threads that wait for that and have begun.
void start_waiting_clocks();
void disarm();
// A forked child inherits neither timers nor the mappings of events.
void arm_again_in_child(bool with_clock);

// Arms another, unarmed thread with a timer; at its first signal it adopts the sampler.
bool arm_other(ThreadSampler* sampler, int tid);
// That thread has ended.
void forget_other(ThreadSampler* sampler);

// Disarms all threads and stops all signals.
void silence();
// Undoes silence(): the process is attached to again.
void end_silence();
bool is_silent();

// Counts the samples that are owed beyond this one: they were due while the thread was in the
// kernel, where events do not fire.
inline uint32_t count_missed(ThreadSampler& self, uint64_t elapsed_ns) {
  // A late signal of a stopped timer, in a process that never had events.
  if (self.period_ns == 0) return 0;
  const auto period_ns = static_cast<int64_t>(self.period_ns), most_ns = period_ns * kEvents;
  self.owed_ns += static_cast<int64_t>(elapsed_ns) - period_ns;
  if (self.owed_ns < -most_ns) self.owed_ns = -most_ns;
  if (self.owed_ns < most_ns) return 0;
  const int64_t missed = (self.owed_ns - most_ns) / period_ns + 1;
  self.owed_ns -= missed * period_ns;
  return static_cast<uint32_t>(missed);
}

// A sample is taken, or missed, now: sets the time of the next one. Returns how many were due and
// not taken.
uint32_t schedule_next(ThreadSampler& sampler, uint64_t cpu_ns, uint64_t elapsed_ns);

// Stops sampling the calling thread, whose alternate stack has no room for the signal; none is
// pending when this returns. The unsampled time is counted.
void rest(ThreadSampler& sampler);

// Switches all threads to another signal, and to timers. `between` is called when no old signal can
// arrive any more.
void change_signal(int before, void (*between)());

uint64_t thread_cpu_ns();
// The calling thread's CPU time, during a sample.
uint64_t cpu_ns_of_this(ThreadSampler& sampler);
// The CPU time of any thread. False: it has ended.
bool cpu_ns_of(int tid, uint64_t& ns);

}  // namespace sonde::cpu
