#include "backends/cpu/sampler.h"

#include <dlfcn.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/alternate_stack.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/attached.h"
#include "backends/cpu/blocked.h"
#include "backends/cpu/copying.h"
#include "backends/cpu/launches.h"
#include "backends/cpu/modules.h"
#include "backends/cpu/signals.h"
#include "backends/cpu/waiting.h"
#include "base/uncancelled.h"

// Defined by the sanitizers' runtimes. Resolved by the loader: a failing dlsym() allocates memory.
extern "C" {
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __msan_init();
[[gnu::weak]] void __asan_init();
}

namespace sonde::cpu {

namespace {

const struct sonde_agent* g_agent = nullptr;
bool g_ready = false;
uint32_t g_own_module = 0;
constinit thread_local ThreadSampler* t_sampler = nullptr;

bool record(ThreadSampler& self, const Sample& taken) {
  sonde_sample sample = {.stack = {},
                         .cpu_ns = taken.cpu_ns,
                         .missed = taken.missed,
                         .cost_ns = taken.cost_ns,
                         .by_timer = taken.by_timer};
  if (!pack(g_agent, g_own_module, taken.moment, self.packed, sample.stack)) return false;
  return g_agent->sample(&sample) != 0;
}

// A sample whose modules cannot be defined, at the second attempt: the agent counts it if it cannot
// record anything. False: the signal arrived while the thread was in the agent.
bool record_without_stack(const Sample& taken) {
  const sonde_sample sample = {.stack = {.ticks = taken.moment.ticks},
                               .cpu_ns = taken.cpu_ns,
                               .missed = taken.missed,
                               .cost_ns = taken.cost_ns,
                               .by_timer = taken.by_timer};
  return g_agent->sample(&sample) != 0;
}

// Records the kept sample and the new one. If the signal arrived while the thread was in the agent,
// the sample is kept until the next one.
void record_or_keep(ThreadSampler& self, bool has_new) {
  if (self.has_waiting != 0 && (record(self, self.waiting) || record_without_stack(self.waiting))) {
    self.has_waiting = 0;
  }
  if (!has_new) return;
  if (self.has_waiting == 0 && record(self, self.now)) return;
  if (self.has_waiting != 0) {
    ++self.missed;
    self.last_cpu_ns -= self.now.cpu_ns;  // the next sample covers its time as well
    return;
  }
  copy_moment(self.waiting.moment, self.now.moment);
  self.waiting.cpu_ns = self.now.cpu_ns;
  self.waiting.missed = self.now.missed;
  self.waiting.cost_ns = self.now.cost_ns;
  self.waiting.by_timer = self.now.by_timer;
  self.has_waiting = 1;
}

void tell_unreadable() {
  g_agent->diagnostic(SONDE_WARNING, "cpu",
                      "process_vm_readv is not permitted, so call stacks end where they leave "
                      "their thread's own stack, and those of blocked threads after one frame; "
                      "the container's seccomp profile has to allow it");
}

// Runs at the first sample, which short processes never reach.
void check_memory() {
  static uint32_t checked;
  if (agent::load(checked) == 0 && __atomic_exchange_n(&checked, 1, __ATOMIC_RELAXED) == 0 &&
      !can_copy()) {
    tell_unreadable();
  }
}

struct Interruption {
  ThreadSampler* self;
  const ucontext_t* context;
};

// An extrapolated clock value may be slightly ahead of the measured one.
uint64_t since(uint64_t before_ns, uint64_t now_ns) {
  return now_ns > before_ns ? now_ns - before_ns : 0;
}

void take(void* argument) {
  const auto& interruption = *static_cast<const Interruption*>(argument);
  ThreadSampler& self = *interruption.self;
  const uint64_t begin = g_agent->ticks();
  const uint64_t cpu_ns = cpu_ns_of_this(self);
  const uint64_t elapsed_ns = since(self.last_cpu_ns, cpu_ns);
  self.last_cpu_ns += elapsed_ns;
  self.now.by_timer = agent::load(self.timer) >= 0;
  const uint32_t missed = self.missed + schedule_next(self, cpu_ns, elapsed_ns);
  self.missed = 0;
  if (g_agent->recording() == 0) return;
  self.now.moment.ticks = begin;
  self.now.cpu_ns = elapsed_ns;
  self.now.missed = missed;
  self.now.cost_ns = self.cost_ns;
  check_memory();
  unwind(*interruption.context, self.bounds, self.now.moment.stack, &self.recent);
  walk_python(g_agent, part_in_use(self.bounds, stack_pointer_of(*interruption.context)),
              self.now.moment.python);
  if (self.python == 0) agent::store(self.python, python_state());
  record_or_keep(self, true);
  const uint64_t cost = since(cpu_ns, cpu_ns_of_this(self));
  self.cost_ns = cost < UINT32_MAX ? static_cast<uint32_t>(cost) : UINT32_MAX;
}

bool is_of(const ThreadSampler& self, int number) {
  for (const Event& event : self.events) {
    if (event.page != nullptr && event.number == number) return true;
  }
  return self.starter.period_ns != 0 && self.starter.number == number;
}

bool is_sampler(const void* pointer) {
  for (const ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (one == pointer) return true;
  }
  return false;
}

bool is_for(const ThreadSampler& self, const siginfo_t& info) {
  return info.si_code == SI_TIMER ? info.si_value.sival_ptr == &self
                                  : info.si_code == POLL_IN && is_of(self, info.si_fd);
}

void on_signal(int number, siginfo_t* info, void* context) {
  if (is_silent() && (info->si_code == POLL_IN || is_of_a_clock(*info))) return;
  ThreadSampler* self = adopt(t_sampler, *info);
  if (self == nullptr || !is_for(*self, *info)) {
    if (!is_of_a_clock(*info)) pass_on(number, info, context);
    return;
  }
  if (self->armed == 0) return;
  const ErrnoKeeper keep;
  const Uncancelled uncancelled;
  if (self->at_launch != 0) return miss();
  Interruption interruption = {self, static_cast<const ucontext_t*>(context)};
  call_on(self->handler_stack + sizeof self->handler_stack, take, &interruption);
}

// The handler may interrupt a runtime that intercepts libc functions which the handler calls, too:
// AddressSanitizer's tolerates that; ThreadSanitizer's and MemorySanitizer's deadlock. A runtime
// that is linked statically may reveal itself only by its interceptors.
bool must_not_be_interrupted() {
  if (__tsan_init != nullptr || __msan_init != nullptr) return true;
  return __asan_init == nullptr && dlsym(RTLD_DEFAULT, "read") != dlsym(RTLD_NEXT, "read");
}

bool prepare_sampling(uint32_t hz) {
  if (hz == 0) return false;
  if (must_not_be_interrupted()) {
    g_agent->diagnostic(SONDE_WARNING, "cpu",
                        "not sampled: the program is built with ThreadSanitizer or MemorySanitizer "
                        "(or with one that is linked in and cannot be told from them), whose "
                        "runtime must not be interrupted");
    return false;
  }
  g_agent->on_silence([] {
    silence();
    end_waiting();
  });
  const uint32_t period_ns = 1000000000 / hz;
  prepare_clocks(period_ns);
  prepare_stacks(g_agent);
  if (begin_signals(g_agent, hz, on_signal) == 0) {
    g_agent->diagnostic(SONDE_WARNING, "cpu", "not sampled: the program uses all signals itself");
    return false;
  }
  if (g_agent->sample_blocked() != 0) watch_blocked(g_agent, period_ns, g_own_module);
  return true;
}

}  // namespace

bool prepare(const struct sonde_agent* agent) {
  if (agent == nullptr) return false;
  g_agent = agent;
  remember_process();
  prepare_arming(agent);
  if (!prepare_modules()) {
    agent->diagnostic(
        SONDE_WARNING, "cpu",
        "not sampled: this libc is older than glibc 2.35, and /proc/self/maps cannot be read");
    return false;
  }
  g_own_module = module_of(reinterpret_cast<uint64_t>(&prepare));
  const bool sampling = prepare_sampling(agent->sample_hz());
  g_ready = prepare_launches(agent, g_own_module) || sampling;
  if (g_ready) find_python(agent);
  return g_ready;
}

bool prepare_attached(const struct sonde_agent* agent) {
  g_agent = agent;
  prepare_arming(agent);
  if (agent->sample_hz() == 0 || must_not_be_interrupted() || !prepare_modules()) return false;
  g_own_module = module_of(reinterpret_cast<uint64_t>(&prepare));
  const uint32_t period_ns = 1000000000 / agent->sample_hz();
  prepare_timers(period_ns);
  find_python(agent);
  if (begin_signals(agent, agent->sample_hz(), on_signal) == 0) return false;
  if (agent->sample_blocked() != 0) watch_blocked(agent, period_ns, g_own_module);
  return true;
}

bool prepared() { return g_ready && !is_silent(); }

void look_for_python() {
  if (prepared()) find_python(g_agent);
}

void look_for_python_frame(const char* said) {
  if (prepared()) probe_python(g_agent, said);
}

void record_last() {
  if (t_sampler != nullptr) record_or_keep(*t_sampler, false);
}

ThreadSampler* this_sampler() { return t_sampler; }
void set_this_sampler(ThreadSampler* sampler) { t_sampler = sampler; }

bool is_of_a_clock(const siginfo_t& info) {
  if (info.si_code == SI_TIMER) return is_sampler(info.si_value.sival_ptr);
  return t_sampler != nullptr && is_for(*t_sampler, info);
}

void miss() {
  ThreadSampler* self = t_sampler;
  if (self == nullptr) return;
  if (self->timer >= 0) schedule_next(*self, thread_cpu_ns(), 0);
  ++self->missed;
}

void call_on(char* top, void (*function)(void*), void* argument) {
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument), [top] "+r"(top), [function] "+r"(function)
      :
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}

}  // namespace sonde::cpu
