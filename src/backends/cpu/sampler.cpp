#include "backends/cpu/sampler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/blocked.h"
#include "backends/cpu/launches.h"
#include "backends/cpu/modules.h"

namespace sonde::cpu {

namespace {

constexpr int kSignal = SIGURG;

const struct sonde_agent* g_agent = nullptr;
uint32_t g_period_ns = 0;
bool g_by_event = false;  // perf events, not timers
bool g_ready = false;
pid_t g_pid = 0;
bool g_sampling = false;
uint32_t g_stopped = 0;
uint32_t g_own_module = 0;
agent::BoundedLock g_free_lock;
ThreadSampler* g_free = nullptr;
ThreadSampler* g_all = nullptr;  // only ever grows
constinit thread_local ThreadSampler* t_sampler = nullptr;

uint64_t thread_cpu_ns() { return static_cast<uint64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID)); }

bool record(ThreadSampler& self, const Moment& moment) {
  sonde_sample sample = {};
  if (!pack(g_agent, g_own_module, moment, self.packed, sample)) return false;
  if (self.timer >= 0) sample.flags |= SONDE_SAMPLE_BY_TIMER;
  return g_agent->sample(&sample) != 0;
}

// Records what is waiting and what is new. A signal may come while the thread is in the agent: then
// its sample waits for the next one.
void record_or_keep(ThreadSampler& self, bool has_new) {
  if (self.has_waiting != 0 && record(self, self.waiting)) self.has_waiting = 0;
  if (!has_new) return;
  if (self.has_waiting == 0 && record(self, self.now)) return;
  if (self.has_waiting != 0) {
    ++self.missed;
    self.last_cpu_ns -= self.now.cpu_ns;  // the next one stands for its time as well
    return;
  }
  copy_moment(self.waiting, self.now);
  self.has_waiting = 1;
}

// `least` and `range` are parts of a period, in 64ths.
uint64_t random_interval(ThreadSampler& self, uint64_t least, uint64_t range) {
  self.random = self.random * 6364136223846793005 + 1442695040888963407;
  return g_period_ns * least / 64 + (self.random >> 32) * g_period_ns / 64 * range / (1ull << 32);
}

uint64_t next_interval(ThreadSampler& self) { return random_interval(self, 32, 64); }

// Sets the next sample's time, from when the last one was due: one that came late, since timers
// fire when the kernel's clock ticks, does not make the others late.
bool schedule(ThreadSampler& self, uint64_t now_ns) {
  self.due_ns += next_interval(self);
  for (; self.due_ns <= now_ns; self.due_ns += next_interval(self)) ++self.missed;
  const auto due_ns = static_cast<int64_t>(self.due_ns);
  const itimerspec times = {{}, {due_ns / 1000000000, due_ns % 1000000000}};
  return syscall(SYS_timer_settime, self.timer, TIMER_ABSTIME, &times, nullptr) == 0;
}

// Events fire at times of their own, but so often: what is owed beyond that was due while the
// thread was in the kernel.
void count_missed(ThreadSampler& self, uint64_t elapsed_ns) {
  const auto period_ns = static_cast<int64_t>(self.period_ns), most_ns = period_ns * kEvents;
  self.owed_ns += static_cast<int64_t>(elapsed_ns) - period_ns;
  if (self.owed_ns < -most_ns) self.owed_ns = -most_ns;
  if (self.owed_ns < most_ns) return;
  const int64_t missed = (self.owed_ns - most_ns) / period_ns + 1;
  self.missed += static_cast<uint32_t>(missed);
  self.owed_ns -= missed * period_ns;
}

void close_events(ThreadSampler& self) {
  for (Event& event : self.events) close_event(event);
}

// Each with a period between 7/8 and 9/8 of so many periods as there are events.
bool open_events(ThreadSampler& self) {
  double rate = 0;
  for (Event& event : self.events) {
    const uint64_t period_ns = random_interval(self, 56 * kEvents, 16 * kEvents);
    rate += 1.0 / static_cast<double>(period_ns);
    event = open_event(period_ns, kSignal);
    if (event.page == nullptr) {
      close_events(self);
      return false;
    }
  }
  self.period_ns = static_cast<uint64_t>(1 / rate);
  self.owed_ns = 0;
  return true;
}

struct Interruption {
  ThreadSampler* self;
  const ucontext_t* context;
};

void take(void* argument) {
  const auto& interruption = *static_cast<const Interruption*>(argument);
  ThreadSampler& self = *interruption.self;
  const uint64_t begin = g_agent->ticks();
  const uint64_t cpu_ns = thread_cpu_ns();
  const uint64_t elapsed_ns = cpu_ns - self.last_cpu_ns;
  self.last_cpu_ns = cpu_ns;
  if (self.timer >= 0) {
    schedule(self, cpu_ns);
  } else {
    count_missed(self, elapsed_ns);
  }
  const uint32_t missed = self.missed;
  self.missed = 0;
  if (g_agent->recording() == 0) return;
  self.now.ticks = begin;
  self.now.cpu_ns = elapsed_ns;
  self.now.missed = missed;
  self.now.cost_ns = self.cost_ns;
  unwind(*interruption.context, self.bounds, self.now.stack);
  walk_python(g_agent, self.now.python);
  if (self.python == 0) agent::store(self.python, python_state());
  record_or_keep(self, true);
  const uint64_t cost = thread_cpu_ns() - cpu_ns;
  self.cost_ns = cost < UINT32_MAX ? static_cast<uint32_t>(cost) : UINT32_MAX;
}

// The sample that is due while a launch's stack is taken: the next one stands for its time.
void miss(ThreadSampler& self) {
  if (self.timer >= 0) schedule(self, thread_cpu_ns());
  ++self.missed;
}

bool is_of(const ThreadSampler& self, int number) {
  for (const Event& event : self.events) {
    if (event.page != nullptr && event.number == number) return true;
  }
  return false;
}

void on_signal(int, siginfo_t* info, void* context) {
  ThreadSampler* self = t_sampler;
  if (self == nullptr || self->armed == 0) return;
  const bool by_timer = info->si_code == SI_TIMER && info->si_value.sival_ptr == self;
  if (!by_timer && (info->si_code != POLL_IN || !is_of(*self, info->si_fd))) return;
  const ErrnoKeeper keep;
  if (self->at_launch != 0) return miss(*self);
  Interruption interruption = {self, static_cast<const ucontext_t*>(context)};
  call_on(self->handler_stack + sizeof self->handler_stack, take, &interruption);
}

bool install_handler() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  // The thread's other stack if it has one: some runtimes have stacks too small for any signal.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // The program's handlers wait for the few microseconds: none may leave ours by a longjmp.
  sigfillset(&action.sa_mask);
  struct sigaction before = {};
  if (sigaction(kSignal, nullptr, &before) != 0) return false;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return false;
  return sigaction(kSignal, &action, nullptr) == 0;
}

bool arm_timer(ThreadSampler& self) {
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event.sigev_value.sival_ptr = &self;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  // Not through libc, which keeps lists of its own.
  if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &self.timer) != 0) {
    self.timer = -1;
    return false;
  }
  return schedule(self, self.last_cpu_ns);
}

void drop_timer(ThreadSampler& self) {
  if (self.timer >= 0) syscall(SYS_timer_delete, self.timer);
  self.timer = -1;
  close_events(self);
}

// A timer on CPU time is looked at when the kernel's clock ticks.
uint32_t ticks_per_second() {
  timespec resolution = {};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return resolution.tv_nsec > 0 ? static_cast<uint32_t>(1000000000 / resolution.tv_nsec) : 100;
}

void tell_denied(uint32_t hz) {
  if (!g_by_event) {  // nothing is lost at a rate that the timers keep
    g_agent->diagnostic(hz <= ticks_per_second() ? SONDE_INFO : SONDE_WARNING, "cpu",
                        "perf events are not permitted, so threads are sampled no faster than the "
                        "kernel's clock ticks; sysctl kernel.perf_event_paranoid=2 permits them");
  }
  if (!memory_is_readable()) {
    g_agent->diagnostic(SONDE_WARNING, "cpu",
                        "process_vm_readv is not permitted, so call stacks end where they leave "
                        "their thread's own stack, and those of blocked threads after one frame; "
                        "the container's seccomp profile has to allow it");
  }
}

bool prepare_sampling(uint32_t hz) {
  if (hz == 0) return false;
  g_period_ns = 1000000000 / hz;
  g_by_event = events_work(g_period_ns);
  if (!install_handler()) {
    g_agent->diagnostic(SONDE_WARNING, "cpu", "not sampled: the program uses SIGURG itself");
    return false;
  }
  tell_denied(hz);
  constexpr size_t kWatched = offsetof(struct sonde_agent, sample_blocked) + sizeof(void*);
  if (g_agent->size >= kWatched && g_agent->sample_blocked() != 0) {
    watch_blocked(g_agent, g_period_ns, g_own_module);
  }
  return true;
}

}  // namespace

bool prepare(const struct sonde_agent* agent) {
  constexpr size_t kNeeded = offsetof(struct sonde_agent, define_code) + sizeof(void*);
  if (agent == nullptr || agent->size < kNeeded) return false;
  g_agent = agent;
  g_pid = getpid();
  if (!prepare_modules()) {
    agent->diagnostic(SONDE_WARNING, "cpu", "not sampled: this libc is older than glibc 2.35");
    return false;
  }
  g_own_module = module_of(reinterpret_cast<uint64_t>(&prepare));
  g_sampling = prepare_sampling(agent->sample_hz());
  g_ready = prepare_launches(agent, g_own_module) || g_sampling;
  if (g_ready) find_python();
  return g_ready;
}

bool prepared() { return g_ready; }

ThreadSampler* this_sampler() { return t_sampler; }

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

ThreadSampler* take_sampler() {
  ThreadSampler* sampler = nullptr;
  if (g_free_lock.acquire()) {
    sampler = g_free;
    if (sampler != nullptr) g_free = sampler->next;
    g_free_lock.release();
  }
  if (sampler != nullptr) return sampler;
  sampler = static_cast<ThreadSampler*>(agent::map_memory(sizeof(ThreadSampler)));
  if (sampler == nullptr) return nullptr;
  sampler->timer = -1;
  sampler->next_of_all = agent::load(g_all);
  while (!__atomic_compare_exchange_n(&g_all, &sampler->next_of_all, sampler, true,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return sampler;
}

ThreadSampler* all_samplers() { return agent::load_acquire(g_all); }

void give_back(ThreadSampler* sampler) {
  if (!g_free_lock.acquire()) return;
  sampler->next = g_free;
  g_free = sampler;
  g_free_lock.release();
}

void arm(ThreadSampler* sampler) {
  const ErrnoKeeper keep;
  sampler->last_cpu_ns = sampler->due_ns = thread_cpu_ns();
  sampler->random ^= g_agent->ticks() ^ reinterpret_cast<uint64_t>(sampler);
  sampler->missed = sampler->cost_ns = sampler->has_waiting = sampler->at_launch = 0;
  agent::store(sampler->python, 0);
  agent::store_release(sampler->tid, static_cast<int>(syscall(SYS_gettid)));
  t_sampler = sampler;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  sampler->armed = 1;
  if (!g_sampling || agent::load(g_stopped) != 0) return;
  if (g_by_event && open_events(*sampler)) return;
  if (!arm_timer(*sampler)) {
    g_agent->diagnostic(SONDE_WARNING, "cpu", "a thread is not sampled: no more timers");
  }
}

void disarm() {
  const ErrnoKeeper keep;
  ThreadSampler* sampler = t_sampler;
  if (sampler == nullptr) return;
  sampler->armed = 0;
  agent::store(sampler->tid, 0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  drop_timer(*sampler);
  record_or_keep(*sampler, false);
  t_sampler = nullptr;
  give_back(sampler);
}

void arm_again_in_child() {
  g_pid = getpid();
  g_free_lock.reset();
  modules_after_fork();
  python_after_fork();
  ThreadSampler* sampler = t_sampler;
  for (ThreadSampler* other = g_all; other != nullptr; other = other->next_of_all) other->tid = 0;
  watch_again_in_child();
  if (sampler == nullptr) return;
  // Neither timers nor the pages of events are inherited.
  sampler->timer = -1;
  for (Event& event : sampler->events) event = {};
  arm(sampler);
}

// The child of a vfork, which has handlers of its own but this memory, is not meant.
bool is_sampling_signal(int number) { return g_sampling && number == kSignal && getpid() == g_pid; }

void stop_for_good() {
  if (__atomic_exchange_n(&g_stopped, 1, __ATOMIC_RELAXED) != 0) return;
  if (t_sampler != nullptr) drop_timer(*t_sampler);
  g_agent->diagnostic(SONDE_WARNING, "cpu",
                      "the program handles SIGURG itself; it was sampled until then only");
}

}  // namespace sonde::cpu
