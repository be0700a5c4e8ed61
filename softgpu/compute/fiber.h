// Fiber: a stack to run on, and switching between two of them. No system calls. Used for the work
// items of a group that wait for each other, and for leaving a faulting kernel.
#pragma once

#include <cstddef>

#include "base/pinned.h"

namespace softgpu {

// Pushes the callee-saved registers onto the current stack, stores the stack pointer at `*save`,
// and continues where `to` was saved.
extern "C" void softgpu_fiber_switch(void** save, void* to);
// The address at which a thread stopped by a signal continues, after its stack pointer was set to a
// saved one.
extern "C" void softgpu_fiber_resume();

// A saved stack pointer that enters `run(argument)` on the stack ending at `top`. `run` must not
// return.
void* make_fiber(char* top, void (*run)(void*), void* argument);

// Stacks of equal size in one mapping. `guarded` puts a page that faults below each of them, to
// detect overflows; without it, the required size must be known.
class Stacks : sonde::Pinned {
 public:
  Stacks() = default;
  ~Stacks();

  // Makes room for `count` stacks of at least `bytes`. False if there is no memory. Their previous
  // contents are lost.
  bool reserve(size_t count, size_t bytes, bool guarded);
  char* begin(size_t index) const { return memory_ + index * stride_ + guard_; }
  char* end(size_t index) const { return memory_ + (index + 1) * stride_ - spread(index); }

 private:
  // With page-sized strides, the tops of all stacks would share the same cache sets.
  size_t spread(size_t index) const { return guard_ ? index % 32 * 64 : 0; }

  char* memory_ = nullptr;
  size_t mapped_ = 0, stride_ = 0, guard_ = 0;
};

}  // namespace softgpu
