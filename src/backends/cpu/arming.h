// The clocks of threads: a timer or perf events on the CPU time of each, which send it the signal.
// They are changed by their own thread, and by the one that has all threads sampled by another
// signal.
#pragma once

#include <stdint.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// Before a thread is armed, with a clock or without.
void prepare_arming(const struct sonde_agent* agent);
// How often. Tries whether perf events are permitted, unless that can wait for the first sample.
void prepare_clocks(uint32_t period_ns);
// The same with timers only, which need no descriptors: of a process that is attached.
void prepare_timers(uint32_t period_ns);
bool clocks_are_events();  // as far as is known
// Of the kernel's clock, at which it looks at timers.
uint32_t ticks_per_second();

ThreadSampler* take_sampler();  // nullptr: no memory
void give_back(ThreadSampler* sampler);
// All that were ever taken, linked by next_of_all.
ThreadSampler* all_samplers();

// For the calling thread. `with_clock`: samples are wanted of it, from now on or, if it waits, from
// when recording is switched on.
void arm(ThreadSampler* sampler, bool with_clock);
// Those that wait, and have begun, get their clocks.
void start_waiting_clocks();
void disarm();
// Neither timers nor the pages of events came along.
void arm_again_in_child(bool with_clock);

// Another thread, which is not armed, gets its timer; it takes over the sampler at the first
// signal.
bool arm_other(ThreadSampler* sampler, int tid);
// It has ended.
void forget_other(ThreadSampler* sampler);

// No thread gets a signal from now on, and none is armed any more.
void silence();
// The same process is attached again.
void end_silence();
bool is_silent();

// Events fire at times of their own, but so often: what is owed beyond that was due while the
// thread was in the kernel.
inline uint32_t count_missed(ThreadSampler& self, uint64_t elapsed_ns) {
  // A signal of a timer that was stopped after it had sent it, where there never were events.
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
// are not taken.
uint32_t schedule_next(ThreadSampler& sampler, uint64_t cpu_ns, uint64_t elapsed_ns);

// The calling thread gets no signals from now on, and none is on its way when this returns: they
// would find no room. The time that is not sampled is counted.
void rest(ThreadSampler& sampler);

// All threads are sampled by another signal, and timers. `between` is called when none is on its
// way any more.
void change_signal(int before, void (*between)());

uint64_t thread_cpu_ns();
// The same, in a sample of the calling thread.
uint64_t cpu_ns_of_this(ThreadSampler& sampler);
// Of any thread. False: it has ended.
bool cpu_ns_of(int tid, uint64_t& ns);

}  // namespace sonde::cpu
