// Sampling a thread: a timer on its CPU time sends it a signal, whose handler takes the thread's
// stack and passes it to the agent.
//
// The interval between samples varies, so that a program that repeats something in step with the
// sampling rate is still sampled without bias: with timers at random, by half a period. The period
// of an event cannot be changed without a descriptor, so a thread has several events, each with a
// long period of its own. They start one after the other, at the thread's first samples, so that a
// thread that does little costs little; a first event with a short period triggers those.
//
// The program sees no difference. The timer runs only while the thread does, and the signal is
// delivered on the return to user mode, so no system call is interrupted. The handler preserves
// errno and runs on a stack of its own, and the kernel saves its frame on another
// (alternate_stack.h). signals.h chooses the signal and hides it from the program.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "backends/cpu/packing.h"
#include "backends/cpu/perf_event.h"
#include "backends/cpu/thread_clock.h"

namespace sonde::cpu {

constexpr uint32_t kEvents = 3;

// State of a blocked thread (blocked.cpp).
struct BlockedThread {
  int tid = 0;
  uint64_t cpu_ns = 0;  // its CPU clock at the last look
  bool is_blocked = false;
  Moment moment;         // when it was found blocked, and its stack
  uint64_t wall_ns = 0;  // time blocked there that is not recorded yet
};

// What a thread was executing, and how much time that represents.
struct Sample {
  Moment moment;
  uint64_t cpu_ns = 0;
  uint32_t missed = 0, cost_ns = 0;
  bool by_timer = false;
};

constexpr size_t kGuardBytes = 4096;
constexpr size_t kSignalStackBytes = 256 * 1024;

// Belongs to one thread at a time; reused by later threads.
struct ThreadSampler {
  // Where the kernel saves the state of an interrupted function, if the thread has no alternate
  // stack of its own. The lowest part is a guard.
  alignas(kGuardBytes) char signal_stack[kGuardBytes + kSignalStackBytes];
  ThreadSampler* next = nullptr;  // in the list of free ones
  ThreadSampler* next_of_all = nullptr;
  int tid = 0;                   // the armed thread
  uint64_t python = 0;           // the interpreter state of that thread
  BlockedThread blocked;         // used only by the thread that looks at blocked ones
  void (*function)() = nullptr;  // the program's, of whatever type
  void* argument = nullptr;
  StackBounds bounds;
  int timer = -1;          // the kernel's timer id
  uint32_t begins = 0;     // events are to replace the timer at its first signal
  Event events[kEvents];   // if events are used
  Event starter;           // its number stays after it is closed: a signal may be pending
  uint32_t started = 0;    // number of running events
  uint64_t period_ns = 0;  // mean interval between samples of all events together
  int64_t owed_ns = 0;     // CPU time that no sample covers yet
  uint32_t armed = 0;
  uint32_t left_behind = 0;    // it has no clock yet: it could not get the lock in time
  uint32_t waits = 0;          // its clock starts when recording is switched on (waiting.h)
  uint32_t rests = 0;          // not sampled: its alternate stack has no room for a signal
  uint64_t rests_from_ns = 0;  // CPU time when that began
  // A launch stack is being taken: the buffers are in use (launches.cpp).
  uint32_t at_launch = 0;
  ThreadClock clock;
  uint64_t last_cpu_ns = 0;  // the thread's CPU time at its last sample
  uint64_t due_ns = 0;       // CPU time at which the next sample is due
  uint64_t random = 0;
  uint32_t missed = 0, cost_ns = 0;
  uint32_t has_waiting = 0;
  RecentRules recent;
  Sample now;
  Sample waiting;  // a sample that could not be recorded when it was taken
  char packed[kPackedBytes];
  alignas(64) char handler_stack[128 * 1024];
};

// The same for a process that is attached to; called each time.
bool prepare_attached(const struct sonde_agent* agent);

// Call once, when the agent is available. False: no stacks are taken in this process.
bool prepare(const struct sonde_agent* agent);
bool prepared();

// Called when an interpreter may have been loaded; see also probe_python().
void look_for_python();
void look_for_python_frame(const char* said);
// Finds the unsetenv() that ours stands before (base/next_function.h).
void find_unsetenv();

// The calling thread's sampler; nullptr if it has none.
ThreadSampler* this_sampler();
void set_this_sampler(ThreadSampler* sampler);

// Records the sample that the calling thread keeps: it takes no more.
void record_last();

// Calls a function on another stack: the thread's own may be small, or almost full.
void call_on(char* top, void (*function)(void*), void* argument);

// Whether a signal comes from one of our clocks, for whichever thread, and so not from the program.
bool is_of_a_clock(const siginfo_t& info);
// Skips the sample that is due now: the next one covers its time.
void miss();

}  // namespace sonde::cpu
