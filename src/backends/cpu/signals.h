// Which signal samples the threads, and how it is hidden from the program: the program sees the
// action that it set, and receives the signals that others send.
//
// The default is SIGURG, which is ignored unless a program wants it, so a late one, after an exec
// for example, does no harm. As soon as the program uses SIGURG, threads are sampled by an unused
// real-time signal, and by timers: the kernel queues at most one signal per timer, so they cannot
// pile up, and it deletes timers at an exec. If the program uses all signals (Go's runtime does),
// it shares the last one with us: signals that are not from our clocks go to the program's own
// handler.
//
// This covers libc's functions only; a program that makes the system calls itself has to leave the
// signal alone.
#pragma once

#include <signal.h>
#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::cpu {

using Handler = void (*)(int, siginfo_t*, void*);

// Chooses the signal. 0: none is available.
int begin_signals(const struct sonde_agent* agent, uint32_t hz, Handler handler);
int sampling_signal();
// For a process that is attached to, whose calls are not intercepted: whether the signal is still
// ours, and releasing it once no timer sends it any more.
bool signal_is_ours();
void end_signals();
// Finds the functions that ours stand before (base/next_function.h).
void find_signal_calls();

// Delivers a signal that is not from our clocks to the program.
void pass_on(int number, siginfo_t* info, void* context);

// False between vfork and exec: signal changes there must not affect the state in the shared
// memory.
bool is_this_process();
// At the start, and in a child of fork().
void remember_process();

using Action = int (*)(int, const struct sigaction*, struct sigaction*);
using Signal = void (*(*)(int, void (*)(int)))(int);
using SignalFd = int (*)(int, const sigset_t*, int);
using TimedWait = int (*)(const sigset_t*, siginfo_t*, const struct timespec*);

// Before the program waits with a mask of its own: takes the sample that fell due while the program
// blocked our signal, which would end the wait. The wait's mask stays as it is, since handlers that
// run meanwhile, and what they start, have it.
void settle_before_wait(const sigset_t* mask);

// Implement these calls of the program; `next` is the libc function that it called.
int change_action(int number, const struct sigaction* action, struct sigaction* before,
                  Action next);
void (*change_handler(int number, void (*handler)(int), int flags, Signal next))(int);
int open_signal_fd(int fd, const sigset_t* set, int flags, SignalFd next);
int wait_for_signal(const sigset_t* set, siginfo_t* info, const struct timespec* timeout,
                    TimedWait next);

}  // namespace sonde::cpu
