// Where the kernel puts what it leaves of an interrupted function: up to 12 KB, with the large
// registers of newer processors. That must not be a stack of the program's which is smaller, or
// almost full: a coroutine's, an alternate one of 2 KB, the end of a deep recursion.
//
// So a thread that has no alternate stack is lent one of ours, and the program is told that it has
// none. (A handler of the program's that asks for an alternate stack runs on it, then.) One that
// brings its own is interrupted on that if there is room, and not sampled any more if there is
// none. While one of the program's handlers runs on an alternate stack, our signal is blocked
// (signals.h).
//
// What the program does by system calls of its own is not seen.
#pragma once

#include <signal.h>

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

void prepare_stacks(const struct sonde_agent* agent);

// For the calling thread, when it begins to be sampled and when it ends.
void lend_stack(ThreadSampler& sampler);
// False: the thread is still on it.
bool take_stack_back(ThreadSampler& sampler);

using AlternateStack = int (*)(const stack_t*, stack_t*);
// What the program is told when it calls sigaltstack.
int alternate_stack(const stack_t* wanted, stack_t* before, AlternateStack next);

}  // namespace sonde::cpu
