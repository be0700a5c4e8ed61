#include "compute/fiber.h"

#include <sys/mman.h>

#include <cstdint>

namespace softgpu {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSpread = 32 * 64;  // see Stacks::spread()

}  // namespace

// The switch ends with a jump, because a `ret` would be predicted to return to the switch's caller.
// The first frame of a fiber has what softgpu_fiber_resume pops: six registers and the address to
// jump to. softgpu_fiber_start finds its function and argument in two of the registers.
asm(R"(
.text
.globl softgpu_fiber_switch
.hidden softgpu_fiber_switch
.type softgpu_fiber_switch, @function
softgpu_fiber_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
.globl softgpu_fiber_resume
.hidden softgpu_fiber_resume
softgpu_fiber_resume:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
  .cfi_endproc
.size softgpu_fiber_switch, .-softgpu_fiber_switch
.hidden softgpu_fiber_start
softgpu_fiber_start:
  movq %r12, %rdi
  callq *%rbx
  ud2
)");

extern "C" void softgpu_fiber_start();

void* make_fiber(char* top, void (*run)(void*), void* argument) {
  auto address = reinterpret_cast<uintptr_t>(top) & ~uintptr_t{63};
  auto* frame = reinterpret_cast<uint64_t*>(address) - 9;  // 16-aligned after seven pops
  frame[0] = 0;                                            // r15
  frame[1] = 0;                                            // r14
  frame[2] = 0;                                            // r13
  frame[3] = reinterpret_cast<uint64_t>(argument);         // r12
  frame[4] = reinterpret_cast<uint64_t>(run);              // rbx
  frame[5] = 0;                                            // rbp
  frame[6] = reinterpret_cast<uint64_t>(&softgpu_fiber_start);
  frame[7] = frame[8] = 0;
  return frame;
}

Stacks::~Stacks() {
  if (memory_) munmap(memory_, mapped_);
}

bool Stacks::reserve(size_t count, size_t bytes, bool guarded) {
  size_t guard = guarded ? kPage : 0;
  size_t unit = guarded ? kPage : 64;
  size_t stride = (bytes + (guard ? kSpread : 0) + guard + unit - 1) / unit * unit;
  if (!guard && stride % 128 == 0) stride += 64;  // an odd number of cache lines uses all sets
  if (memory_ && stride == stride_ && guard == guard_ && count * stride <= mapped_) return true;
  size_t needed = count * stride;
  if (!memory_ || guard || guard_ || needed > mapped_) {
    if (memory_) munmap(memory_, mapped_);
    void* memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
    mapped_ = memory_ ? needed : 0;
    if (!memory_) return false;
    // The process may have too few mappings left for guards; the stacks work without them.
    for (size_t i = 0; guard && i < count; i++)
      if (mprotect(memory_ + i * stride, guard, PROT_NONE) != 0) break;
  }
  stride_ = stride;
  guard_ = guard;
  return true;
}

}  // namespace softgpu
