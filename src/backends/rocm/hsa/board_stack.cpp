// Call stacks for the board, taken with the sampler's unwinder (backends/cpu), which never follows
// a frame into unmapped memory. Modules and code objects are numbered by the board's own log, so
// that its reader needs nothing else.
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"
#ifdef __x86_64__
#include "backends/cpu/modules.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/sampler.h"
#endif
#include <sys/syscall.h>
#include <unistd.h>

extern "C" const void* __libc_stack_end;

namespace sonde::hsa {

#ifdef __x86_64__
namespace {

struct Room {
  cpu::Moment moment;
  char packed[cpu::kPackedBytes];
};
Room g_room;  // untouched until the first stack
agent::BoundedLock g_lock;

// The main thread's bounds; the memory of other threads is read by system calls, which costs more.
cpu::StackBounds bounds_of(uint32_t tid) {
  cpu::StackBounds bounds;
  if (tid != static_cast<uint32_t>(getpid())) return bounds;
  bounds.high = reinterpret_cast<uint64_t>(__libc_stack_end) + 64;
  bounds.low = bounds.high - (8 << 20);
  return bounds;
}

// The size of as many whole frames as fit: each is two LEB128 numbers.
uint32_t whole_frames(const char* frames, uint32_t bytes, uint32_t room) {
  uint32_t end = 0, numbers = 0;
  for (uint32_t i = 0; i < bytes && i < room; ++i) {
    if ((frames[i] & 0x80) != 0) continue;
    if (++numbers % 2 == 0) end = i + 1;
  }
  return end;
}

// A definer that numbers modules and code objects by the log; the sampler's stacks use the agent.
struct sonde_agent g_naming;

bool prepared() {
  enum : uint8_t { kNotYet, kYes, kNo };
  static uint8_t state;
  if (state != kNotYet) return state == kYes;
  state = cpu::prepared() || cpu::prepare_modules() ? kYes : kNo;
  g_naming = agent();
  g_naming.define_module = log_module;
  g_naming.define_code = log_code;
  cpu::set_second_definer(&g_naming);
  return state == kYes;
}

bool keep(const cpu::Moment& moment, wire::BoardStack* stack) {
  struct sonde_stack packed;
  if (!cpu::pack(&g_naming, 0, moment, g_room.packed, packed)) return false;
  const uint32_t bytes = whole_frames(g_room.packed, packed.frame_bytes, sizeof stack->frames);
  memcpy(stack->frames, g_room.packed, bytes);
  stack->bytes = bytes;
  return true;
}

void walk(const ucontext_t& here, wire::BoardStack* stack) {
  cpu::Moment& moment = g_room.moment;
  const cpu::StackBounds bounds = bounds_of(stack->tid);
  unwind(here, bounds, moment.stack);
  leave_out_ours(moment.stack);
  cpu::find_python(nullptr);
  cpu::walk_python(&g_naming, cpu::part_in_use(bounds, cpu::stack_pointer_of(here)), moment.python);
  keep(moment, stack);
}

// The stack of another thread, which is blocked or stopped; `unwind` takes its native frames.
template <typename Unwind>
bool take(uint32_t tid, uint64_t python, wire::BoardStack* stack, const Unwind& unwind) {
  stack->tid = tid;
  stack->bytes = 0;
  stack->call[0] = '\0';
  if (!g_lock.acquire()) return false;  // a stopped thread may hold it
  cpu::Moment& moment = g_room.moment;
  const bool can = prepared();
  if (can) {
    unwind(moment);
    leave_out_ours(moment.stack);
    cpu::walk_python_of(&g_naming, python, moment.python);
  }
  const bool kept = can && keep(moment, stack);
  g_lock.release();
  return kept;
}

}  // namespace

bool take_stack_of(uint32_t tid, uint64_t pc, uint64_t stack_pointer, uint64_t python,
                   wire::BoardStack* stack) {
  return take(tid, python, stack,
              [&](cpu::Moment& moment) { cpu::unwind_blocked(pc, stack_pointer, moment.stack); });
}

bool take_stack_stopped(uint32_t tid, const wire::BoardRegisters& registers, uint64_t python,
                        wire::BoardStack* stack) {
  return take(tid, python, stack, [&](cpu::Moment& moment) {
    ucontext_t context = {};
    auto& all = context.uc_mcontext.gregs;
    const auto put = [&all](int which, uint64_t value) { all[which] = static_cast<greg_t>(value); };
    put(REG_RIP, registers.pc);
    put(REG_RSP, registers.stack);
    put(REG_RBP, registers.frame);
    put(REG_RBX, registers.rbx);
    put(REG_R12, registers.r12);
    put(REG_R13, registers.r13);
    put(REG_R14, registers.r14);
    put(REG_R15, registers.r15);
    cpu::unwind_stopped(context, moment.stack);
  });
}

uint64_t python_of_this_thread() {
  if (!g_lock.acquire()) return 0;
  cpu::find_python(nullptr);
  g_lock.release();
  return cpu::python_state();
}

void take_stack(wire::BoardStack* stack) {
  stack->tid = static_cast<uint32_t>(syscall(SYS_gettid));
  stack->bytes = 0;
  const char* called = rocm::t_called != nullptr ? rocm::t_called : "";
  snprintf(stack->call, sizeof stack->call, "%s", called);
  ucontext_t here;
  if (getcontext(&here) != 0 || !g_lock.acquire()) return;
  if (prepared()) walk(here, stack);
  g_lock.release();
}
#else
void take_stack(wire::BoardStack* stack) { *stack = {}; }
bool take_stack_of(uint32_t, uint64_t, uint64_t, uint64_t, wire::BoardStack*) { return false; }
bool take_stack_stopped(uint32_t, const wire::BoardRegisters&, uint64_t, wire::BoardStack*) {
  return false;
}
uint64_t python_of_this_thread() { return 0; }
#endif

}  // namespace sonde::hsa
