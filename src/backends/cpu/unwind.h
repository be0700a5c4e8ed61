// The call stack of an interrupted thread, found in its own signal handler. No locks, no memory, no
// system call on an ordinary stack.
//
// How each instruction's frame is left is read from .eh_frame when the instruction is met for the
// first time, and remembered in a table that all threads share; outer frames are always the same
// ones. Where there is no .eh_frame (code made at run time), the frame pointer or the word on top
// of the stack is tried, and what cannot be unwound is said to be truncated.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "wire/records.h"

namespace sonde::cpu {

// Where the thread's frames surely are readable, from the stack pointer up to `high`.
struct StackBounds {
  uint64_t low = 0, high = 0;
};
inline uint64_t stack_pointer_of(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}
// The part that is, or nothing where the stack pointer is on another stack.
StackBounds part_in_use(const StackBounds& bounds, uint64_t stack_pointer);

struct Frame {
  uint64_t address;  // within the instruction that runs or called
  uint64_t stack;    // its CFA: frames are in memory below it and above the frame's before
  uint32_t module;   // modules.h; 0: not known
};

struct Stack {
  uint32_t count = 0;
  uint32_t flags = 0;  // sonde_sample_flag
  Frame frames[wire::kMaxFrames];
};

void unwind(const ucontext_t& context, const StackBounds& bounds, Stack& stack);

// Of another thread, which waits in the kernel, from the two registers that the kernel tells. All
// memory is read by system calls. A function that needs the frame pointer before a called one has
// saved it is left by the first pair of frame pointer and return address that makes sense.
void unwind_blocked(uint64_t pc, uint64_t stack_pointer, Stack& stack);

// Whether memory can be read by the system call for it, which a container may deny.
bool memory_is_readable();

// Files were unmapped: what was remembered of them is no longer true.
void forget_remembered();

}  // namespace sonde::cpu
