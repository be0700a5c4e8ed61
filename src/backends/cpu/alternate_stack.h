// The stack on which the kernel saves the state of an interrupted function: up to 12 KB, with the
// large registers of newer processors. That must not be a stack of the program's that is small or
// almost full: a coroutine's, an alternate stack of 2 KB, the end of a deep recursion.
//
// So a thread without an alternate stack is lent one of ours, and the program is told that it has
// none. (A handler of the program that asks for an alternate stack then runs on ours.) A thread
// that sets its own is interrupted on that if it is large enough, and otherwise no longer sampled.
// While one of the program's handlers runs on an alternate stack, our signal is blocked
// (signals.h).
//
// Raw system calls by the program bypass this.
#pragma once

#include <signal.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

void prepare_stacks(const struct sonde_agent* agent);

// For the calling thread, when sampling of it begins and ends.
void lend_stack(ThreadSampler& sampler);
// False: the thread is still on it.
bool take_stack_back(ThreadSampler& sampler);

using AlternateStack = int (*)(const stack_t*, stack_t*);
// Implements the program's sigaltstack().
int alternate_stack(const stack_t* wanted, stack_t* before, AlternateStack next);

}  // namespace sonde::cpu
