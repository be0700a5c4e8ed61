// Which signal samples the threads, and what the program sees and gets of it: it is told what it
// set itself, and gets what somebody sends.
//
// It is SIGURG, which is ignored unless somebody wants it: one that comes late, after an exec say,
// does no harm. As soon as the program wants it, threads are sampled by a real-time signal that
// nobody uses, and by timers: the kernel keeps one signal of each, so that they cannot pile up, and
// takes them away at an exec. Where the program wants all of them (Go's runtime does), it shares
// the last one with us: signals that are not of our clocks go on to the program's own handler.
//
// Only what is done by libc is seen; a program that makes the system calls itself has to leave the
// signal alone.
#pragma once

#include <signal.h>
#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::cpu {

using Handler = void (*)(int, siginfo_t*, void*);

// Chooses the signal. 0: there is none.
int begin_signals(const struct sonde_agent* agent, uint32_t hz, Handler handler);
int sampling_signal();
// For a process that is attached, whose calls are not seen: whether the signal is still ours, and
// giving it back, when no timer sends it any more.
bool signal_is_ours();
void end_signals();
// What libc's functions are, which are interposed (signal_calls.cpp).
void find_signal_calls();

// What the program gets of a signal that is not of our clocks.
void pass_on(int number, siginfo_t* info, void* context);

// Not so between vfork and exec: what the child does with its signals must not change what is
// remembered in the memory it shares.
bool is_this_process();
void signals_after_fork();

using Action = int (*)(int, const struct sigaction*, struct sigaction*);
using Signal = void (*(*)(int, void (*)(int)))(int);
using SignalFd = int (*)(int, const sigset_t*, int);
using TimedWait = int (*)(const sigset_t*, siginfo_t*, const struct timespec*);

// What the program is told and gets when it calls these; `next` is what it called.
int change_action(int number, const struct sigaction* action, struct sigaction* before,
                  Action next);
void (*change_handler(int number, void (*handler)(int), int flags, Signal next))(int);
int open_signal_fd(int fd, const sigset_t* set, int flags, SignalFd next);
int wait_for_signal(const sigset_t* set, siginfo_t* info, const struct timespec* timeout,
                    TimedWait next);

}  // namespace sonde::cpu
