#include "backends/cpu/launches.h"

#include <sched.h>
#include <string.h>

#include "agent/platform.h"
#include "base/errno_keeper.h"

namespace sonde::cpu {

namespace {

// The locks this thread needs may be held by another one that defines something.
constexpr int kMostTries = 10;
constexpr int kTriesWithoutPause = 3;

const struct sonde_agent* g_agent = nullptr;
uint32_t g_own_module = 0;

bool all_defined(const PythonStack& python) {
  for (uint32_t i = 0; i < python.frame_count; ++i) {
    if (python.frames[i].code == 0) return false;
  }
  return true;
}

bool try_to_record(ThreadSampler& self, const StackBounds& in_use, uint64_t correlation,
                   bool with_all) {
  walk_python(g_agent, in_use, self.now.moment.python);
  if (with_all && !all_defined(self.now.moment.python)) return false;
  sonde_stack stack;
  if (!pack(g_agent, g_own_module, self.now.moment, self.packed, stack)) return false;
  return g_agent->launch_stack(&stack, correlation) != 0;
}

struct Launch {
  ThreadSampler* self;
  uint64_t correlation;
  ucontext_t here;
};

void take(void* argument) {
  auto& launch = *static_cast<Launch*>(argument);
  ThreadSampler& self = *launch.self;
  self.now.moment.ticks = g_agent->ticks();
  unwind(launch.here, self.bounds, self.now.moment.stack, &self.recent);
  leave_out_ours(self.now.moment.stack);
  const StackBounds in_use = part_in_use(self.bounds, stack_pointer_of(launch.here));
  for (int tries = 1; !try_to_record(self, in_use, launch.correlation, tries < kMostTries);
       ++tries) {
    if (tries == kMostTries) return g_agent->dropped("launch stacks", 1);
    if (tries > kTriesWithoutPause) sched_yield();
  }
}

// Stores the callee-saved registers as they are in the function that this is inlined into.
[[gnu::always_inline]] inline void note_registers(ucontext_t& context) {
  greg_t* const registers = context.uc_mcontext.gregs;
  memset(registers, 0, sizeof context.uc_mcontext.gregs);
  asm volatile(
      "leaq 0(%%rip), %%rax\n\t"
      "movq %%rax, %[rip]\n\t"
      "movq %%rsp, %[rsp]\n\t"
      "movq %%rbp, %[rbp]\n\t"
      "movq %%rbx, %[rbx]\n\t"
      "movq %%r12, %[r12]\n\t"
      "movq %%r13, %[r13]\n\t"
      "movq %%r14, %[r14]\n\t"
      "movq %%r15, %[r15]"
      : [rip] "=m"(registers[REG_RIP]), [rsp] "=m"(registers[REG_RSP]),
        [rbp] "=m"(registers[REG_RBP]), [rbx] "=m"(registers[REG_RBX]),
        [r12] "=m"(registers[REG_R12]), [r13] "=m"(registers[REG_R13]),
        [r14] "=m"(registers[REG_R14]), [r15] "=m"(registers[REG_R15])
      :
      : "rax");
}

// Runs on the handler's stack, since the thread's own may be almost full: a signal that arrives
// meanwhile is not handled there, and its sample counts as part of the next one.
void on_launch(uint64_t correlation) {
  ThreadSampler* self = this_sampler();
  if (self == nullptr || self->at_launch != 0) return;
  const ErrnoKeeper keep;
  Launch launch;
  launch.self = self;
  launch.correlation = correlation;
  note_registers(launch.here);
  self->at_launch = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  call_on(self->handler_stack + sizeof self->handler_stack, take, &launch);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  self->at_launch = 0;
}

}  // namespace

bool prepare_launches(const struct sonde_agent* agent, uint32_t own_module) {
  g_agent = agent;
  g_own_module = own_module;
  return agent->take_launch_stacks(on_launch) != 0;
}

}  // namespace sonde::cpu
