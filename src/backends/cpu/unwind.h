// The call stack of an interrupted thread, unwound in its own signal handler. No locks, no
// allocation and, on an ordinary stack, no system calls.
//
// The unwind rule of an instruction is read from .eh_frame when the instruction is first met, and
// cached in a table that all threads share, since outer frames are mostly the same. Where there is
// no .eh_frame (JIT code), the unwinder tries the frame pointer or the word on top of the stack,
// and flags a stack that it cannot unwind as truncated.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "wire/records.h"

namespace sonde::cpu {

// The part of the thread's stack that is known to be readable: from the stack pointer up to `high`.
struct StackBounds {
  uint64_t low = 0, high = 0;
};
inline uint64_t stack_pointer_of(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}
// That part, or nothing if the stack pointer is on another stack.
StackBounds part_in_use(const StackBounds& bounds, uint64_t stack_pointer);

struct Frame {
  uint64_t address;  // within the instruction that runs or called
  uint64_t stack;    // its CFA: the frame's memory lies below this and above the previous frame's
  uint32_t module;   // modules.h; 0: unknown
};

struct Stack {
  uint32_t count = 0;
  uint32_t flags = 0;  // enum sonde_stack_flag
  Frame frames[wire::kMaxFrames];
};

// The rules of a thread's latest callers, side by side: in the table of all threads each lies in
// another page, most of which have left the caches when the next sample is taken.
struct RecentRules {
  static constexpr uint32_t kCount = 64;
  uint64_t keys[kCount], rows[kCount];
};

// `recent` belongs to the calling thread, or is nullptr.
void unwind(const ucontext_t& context, const StackBounds& bounds, Stack& stack,
            RecentRules* recent = nullptr);

// The stack of another thread that is stopped. All memory is read by system calls, since yet other
// threads may unmap it.
void unwind_stopped(const ucontext_t& context, Stack& stack);

// The same of a thread that is blocked in the kernel, from the two registers that the kernel shows.
// If a function's rule needs rbp before an inner frame has restored it, the first plausible pair of
// frame pointer and return address is used.
void unwind_blocked(uint64_t pc, uint64_t stack_pointer, Stack& stack);

// Drops the innermost frames that are in Sonde's own libraries.
void leave_out_ours(Stack& stack);

// Files were unmapped: cached rules may be wrong.
void forget_remembered();

}  // namespace sonde::cpu
