// Fiber: a stack to run on and the switch between two of them. No system calls. Used for the work
// items of a group that wait for each other, and for the way out of a faulting kernel.
#pragma once

#include <cstddef>

#include "base/pinned.h"

namespace softgpu {

// Saves what a called function must preserve on the current stack, stores the stack pointer at
// `*save`, and goes on where `to` was saved.
extern "C" void softgpu_fiber_switch(void** save, void* to);
// Where a thread that is stopped (by a signal) goes on after its stack pointer was set to a saved
// one.
extern "C" void softgpu_fiber_resume();

// A saved stack pointer that enters `run(argument)` on the stack ending at `top`. `run` must not
// return.
void* make_fiber(char* top, void (*run)(void*), void* argument);

// Stacks of equal size in one mapping. With `guarded`, below each is a page that faults, so that an
// overflow is seen; without, the need must be known.
class Stacks : sonde::Pinned {
 public:
  Stacks() = default;
  ~Stacks();

  // Makes room for `count` stacks of at least `bytes`. False if there is no memory. What was on
  // them before is lost.
  bool reserve(size_t count, size_t bytes, bool guarded);
  char* begin(size_t index) const { return memory_ + index * stride_ + guard_; }
  char* end(size_t index) const { return memory_ + (index + 1) * stride_ - spread(index); }

 private:
  // Page-sized strides would put the tops of all stacks into the same cache sets.
  size_t spread(size_t index) const { return guard_ ? index % 32 * 64 : 0; }

  char* memory_ = nullptr;
  size_t mapped_ = 0, stride_ = 0, guard_ = 0;
};

}  // namespace softgpu
