// Sampling one thread: a timer on its CPU time sends it a signal, whose handler takes the thread's
// stack and hands it to the agent.
//
// The time from one sample to the next varies, so that a program that does something again and
// again in step with the rate is seen as it is: with timers at random, by half a period. The period
// of an event cannot be changed without a descriptor; so a thread has several, each with a long
// period of its own. They start one after the other, at its first samples, so that a thread that
// does little costs little; a first event of a short period sees to these.
//
// Nothing that the program can see changes. The timer runs only while the thread does, and the
// signal is raised on the way back to user mode, so no system call is ended early. The handler
// keeps errno and works on a stack of its own, and so does the kernel for its part
// (alternate_stack.h). Which signal it is, and what the program sees of it, is in signals.h.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "backends/cpu/packing.h"
#include "backends/cpu/perf_event.h"
#include "backends/cpu/thread_clock.h"

namespace sonde::cpu {

constexpr uint32_t kEvents = 3;

// What is known of a thread that does not run (blocked.cpp).
struct BlockedThread {
  int tid = 0;
  uint64_t cpu_ns = 0;  // its clock when it was looked at last
  bool is_blocked = false;
  Moment moment;         // when it was found, and its stack
  uint64_t wall_ns = 0;  // how long it has stood there and is not recorded yet
};

// What a thread was executing, and what that stands for.
struct Sample {
  Moment moment;
  uint64_t cpu_ns = 0;
  uint32_t missed = 0, cost_ns = 0;
  bool by_timer = false;
};

constexpr size_t kGuardBytes = 4096;
constexpr size_t kSignalStackBytes = 256 * 1024;

// Of one thread at a time; used again by a later thread.
struct ThreadSampler {
  // What the kernel leaves of an interrupted function, where the thread has no alternate stack of
  // the program's. The part that is lowest is not to be touched.
  alignas(kGuardBytes) char signal_stack[kGuardBytes + kSignalStackBytes];
  ThreadSampler* next = nullptr;  // of the free ones
  ThreadSampler* next_of_all = nullptr;
  int tid = 0;            // of the thread that it is armed for
  uint64_t python = 0;    // the interpreter's state of that thread
  BlockedThread blocked;  // belongs to the thread that looks at blocked ones
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  StackBounds bounds;
  int timer = -1;          // the kernel's number
  uint32_t begins = 0;     // events take over from the timer at its first signal
  Event events[kEvents];   // where they are used
  Event starter;           // its number stays when it is closed: a signal may be on its way
  uint32_t started = 0;    // of the events
  uint64_t period_ns = 0;  // between samples of all of them, in the mean
  int64_t owed_ns = 0;     // CPU time for which there is no sample yet
  uint32_t armed = 0;
  uint32_t left_behind = 0;    // it has no clock yet: others were starting theirs for too long
  uint32_t waits = 0;          // it gets its clock when recording is switched on (waiting.h)
  uint32_t rests = 0;          // its alternate stack has no room for a signal
  uint64_t rests_from_ns = 0;  // of its CPU time
  uint32_t at_launch = 0;      // takes a launch's stack: its memory is in use (launches.cpp)
  ThreadClock clock;
  uint64_t last_cpu_ns = 0;  // of the thread, at its last sample
  uint64_t due_ns = 0;       // when its next one is due, in CPU time
  uint64_t random = 0;
  uint32_t missed = 0, cost_ns = 0;
  uint32_t has_waiting = 0;
  Sample now;
  Sample waiting;  // could not be recorded when it was taken
  char packed[kPackedBytes];
  alignas(64) char handler_stack[128 * 1024];
};

// The same for a process that is attached, each time.
bool prepare_attached(const struct sonde_agent* agent);

// Once, when the agent is there. False: no stacks are taken in this process.
bool prepare(const struct sonde_agent* agent);
bool prepared();

// An interpreter may have been loaded since; and see probe_python().
void look_for_python();
void look_for_python_frame(const char* said);

// Of the calling thread; nullptr: it has none.
ThreadSampler* this_sampler();
void set_this_sampler(ThreadSampler* sampler);

// Calls on another stack: the thread's own may be small, or almost full.
void call_on(char* top, void (*function)(void*), void* argument);

// Whether a signal is one of a clock of ours, of whichever thread, and so none of the program's.
bool is_of_a_clock(const siginfo_t& info);
// The sample that is due and is not taken now: the next one stands for its time.
void miss();

}  // namespace sonde::cpu
