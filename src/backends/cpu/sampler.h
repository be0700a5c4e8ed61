// Sampling one thread: a timer on its CPU time sends it a signal, whose handler takes the thread's
// stack and hands it to the agent.
//
// The time from one sample to the next varies, so that a program that does something again and
// again in step with the rate is seen as it is: with timers at random, by half a period. The period
// of an event cannot be changed without a descriptor; so a thread has several, each with a long
// period of its own.
//
// Nothing that the program can see changes. The timer runs only while the thread does, and the
// signal is raised on the way back to user mode, so no system call is ended early. The handler
// keeps errno and works on a stack of its own. The signal is one that is ignored unless somebody
// wants it (SIGURG), so one that comes late, after an exec say, does no harm.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "backends/cpu/packing.h"
#include "backends/cpu/perf_event.h"

namespace sonde::cpu {

constexpr uint32_t kEvents = 3;

// What is known of a thread that does not run (blocked.cpp).
struct Watched {
  int tid = 0;
  uint64_t cpu_ns = 0;  // its clock when it was looked at last
  bool is_blocked = false;
  Moment moment;  // its stack, and how long it has stood there and is not recorded yet
};

// Of one thread at a time; used again by a later thread.
struct ThreadSampler {
  ThreadSampler* next = nullptr;  // of the free ones
  ThreadSampler* next_of_all = nullptr;
  int tid = 0;          // of the thread that it is armed for
  uint64_t python = 0;  // the interpreter's state of that thread
  Watched watched;      // belongs to the thread that looks at blocked ones
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  StackBounds bounds;
  int timer = -1;          // the kernel's number
  Event events[kEvents];   // where they are used
  uint64_t period_ns = 0;  // between samples of all of them, in the mean
  int64_t owed_ns = 0;     // CPU time for which there is no sample yet
  uint32_t armed = 0;
  uint32_t at_launch = 0;    // takes a launch's stack: its memory is in use (launches.cpp)
  uint64_t last_cpu_ns = 0;  // of the thread, at its last sample
  uint64_t due_ns = 0;       // when its next one is due, in CPU time
  uint64_t random = 0;
  uint32_t missed = 0, cost_ns = 0;
  uint32_t has_waiting = 0;
  Moment now;
  Moment waiting;  // could not be recorded when it was taken
  char packed[kPackedBytes];
  alignas(64) char handler_stack[128 * 1024];
};

// Once, when the agent is there. False: no stacks are taken in this process.
bool prepare(const struct sonde_agent* agent);
bool prepared();

// Of the calling thread; nullptr: it has none.
ThreadSampler* this_sampler();

// Calls on another stack: the thread's own may be small, or almost full.
void call_on(char* top, void (*function)(void*), void* argument);

ThreadSampler* take_sampler();  // nullptr: no memory
void give_back(ThreadSampler* sampler);
// All that were ever taken, linked by next_of_all.
ThreadSampler* all_samplers();

// For the calling thread.
void arm(ThreadSampler* sampler);
void disarm();
void arm_again_in_child();

// The program wants the signal for itself: nothing is sampled any more.
bool is_sampling_signal(int number);
void stop_for_good();

}  // namespace sonde::cpu
