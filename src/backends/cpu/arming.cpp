#include "backends/cpu/arming.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/platform.h"
#include "agent/state.h"
#include "backends/cpu/alternate_stack.h"
#include "backends/cpu/kernel_signals.h"
#include "backends/cpu/signals.h"
#include "backends/cpu/unsampled.h"

// A symbol version like those in base/old_glibc.h, which has the ones that several files need.
__asm__(".symver pthread_getcpuclockid,pthread_getcpuclockid@GLIBC_2.2.5");

namespace sonde::cpu {

namespace {

const struct sonde_agent* g_agent = nullptr;
uint64_t g_period_ns = 0;
uint32_t g_by_event = 0;
uint32_t g_from_timer = 0;  // the first sample comes from a timer, the others from events
uint32_t g_denied = 0;      // events turned out not to be permitted
bool g_turns_show = false;  // pages of perf events show context switches (turn_of)
uint32_t g_silent = 0;
agent::BoundedLock g_free_lock;
agent::BoundedLock g_arming;  // held while starting and stopping clocks
uint32_t g_left_behind = 0;   // at most so many threads could not start their clock
ThreadSampler* g_free = nullptr;
ThreadSampler* g_all = nullptr;  // only ever grows

void start_clocks_left_behind();

// Not inlined, to keep the library that is preloaded into every program small.
[[gnu::noinline]] bool acquire_arming() { return g_arming.acquire(); }

// The clock id of a thread's CPU time, as clock_gettime() takes it.
clockid_t cpu_clock_of(int tid) {
  return static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | 6);
}

// The tid of the calling thread, without a system call: libc knows the id of its CPU clock, which
// contains it.
int tid_without_a_call() {
  clockid_t clock = 0;
  const bool known = pthread_getcpuclockid(pthread_self(), &clock) == 0 && (clock & 7) == 6;
  return known && ~(clock >> 3) > 0 ? ~(clock >> 3) : static_cast<int>(syscall(SYS_gettid));
}

// `least` and `range` in 64ths of a period.
uint64_t random_interval(ThreadSampler& self, uint64_t least, uint64_t range) {
  self.random = self.random * 6364136223846793005 + 1442695040888963407;
  return g_period_ns * least / 64 + (self.random >> 32) * g_period_ns / 64 * range / (1ull << 32);
}

uint64_t next_interval(ThreadSampler& self) { return random_interval(self, 32, 64); }

// Sets the time of the next sample, counted from when the last one was due: a late sample (timers
// fire at kernel ticks) must not delay the others.
uint32_t schedule(ThreadSampler& self, int timer, uint64_t now_ns) {
  uint32_t missed = 0;
  self.due_ns += next_interval(self);
  for (; self.due_ns <= now_ns; self.due_ns += next_interval(self)) ++missed;
  const auto due_ns = static_cast<int64_t>(self.due_ns);
  const itimerspec times = {{}, {due_ns / 1000000000, due_ns % 1000000000}};
  syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &times, nullptr);
  return missed;
}

void close_events(ThreadSampler& self) {
  const auto close = &self == this_sampler() ? close_event : close_event_of_another;
  close(self.starter);
  for (Event& event : self.events) close(event);
  agent::store(self.started, 0u);
  self.clock.forget();
}

bool is_linux(unsigned long wanted_major, unsigned long wanted_minor) {
  utsname kernel = {};
  if (uname(&kernel) != 0) return false;
  char* end = kernel.release;
  const unsigned long major = strtoul(end, &end, 10);
  const unsigned long minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
}

// Since Linux 5.10, a CPU-time timer waits until its thread returns to user mode; before that it
// may interrupt a system call, which then returns EINTR.
bool timers_never_interrupt() { return is_linux(5, 10); }

// Only information, not a warning, if timers can keep up with the rate.
void tell_denied() {
  const bool kept = g_period_ns * ticks_per_second() >= 1'000'000'000;
  g_agent->diagnostic(kept ? SONDE_INFO : SONDE_WARNING, "cpu",
                      "perf events are not permitted, so threads are sampled no faster than the "
                      "kernel's clock ticks; sysctl kernel.perf_event_paranoid=2 permits them");
}

bool open_starter(ThreadSampler& self, int number) {
  self.period_ns = next_interval(self);
  self.owed_ns = 0;
  self.starter = open_event(self.period_ns, number);
  return self.starter.page != nullptr;
}

// All events are running: from now on the thread is sampled by them alone.
void end_start(ThreadSampler& self) {
  double rate = 0;
  for (const Event& event : self.events) rate += 1.0 / static_cast<double>(event.period_ns);
  self.period_ns = static_cast<uint64_t>(1 / rate);
  close_event(self.starter);
}

void stop_timer(ThreadSampler& self) {
  const int timer = __atomic_exchange_n(&self.timer, -1, __ATOMIC_RELAXED);
  if (timer >= 0) syscall(SYS_timer_delete, timer);
}

// Called at the first sample, which a timer triggered: for a process or thread that ends before
// that, opening an event would cost more than the rest of recording it.
bool begin_events(ThreadSampler& self) {
  if (!g_arming.try_acquire()) return false;
  const bool wanted = clocks_are_events() && !is_silent() && self.rests == 0;
  const bool opened = wanted && open_starter(self, sampling_signal());
  if (opened) stop_timer(self);
  if (wanted && !opened && !events_work(g_period_ns)) {
    agent::store(g_by_event, 0);
    agent::store(g_denied, 1);
  }
  self.begins = 0;
  start_clocks_left_behind();
  g_arming.release();
  return opened;
}

// Called at a sample: starts the next event, with a period of kEvents sampling periods, varied by
// 1/8. If that fails, the next sample tries again.
void start_next_event(ThreadSampler& self) {
  if (self.starter.page == nullptr || !g_arming.try_acquire()) return;
  if (clocks_are_events() && !is_silent() && self.rests == 0 && self.starter.page != nullptr) {
    Event& event = self.events[self.started];
    event = open_event(random_interval(self, 56 * kEvents, 16 * kEvents), sampling_signal());
    if (event.page != nullptr && ++self.started == kEvents) end_start(self);
  }
  g_arming.release();
}

// For any thread of the process.
bool start_timer(ThreadSampler& self, int tid, int number, uint64_t now_ns) {
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event.sigev_value.sival_ptr = &self;
  event._sigev_un._tid = tid;
  int timer = -1;
  // Bypasses libc, which keeps bookkeeping of its own for timers.
  if (syscall(SYS_timer_create, cpu_clock_of(tid), &event, &timer) != 0) return false;
  self.due_ns = now_ns;
  agent::store(self.timer, timer);
  schedule(self, timer, now_ns);
  return true;
}

void stop_clock(ThreadSampler& self) {
  stop_timer(self);
  close_events(self);
}

bool start_own_clock(ThreadSampler& self) {
  const int number = sampling_signal();
  if (number == 0) return true;
  self.begins = clocks_are_events() && agent::load(g_from_timer) != 0;
  if (self.begins == 0 && clocks_are_events() && open_starter(self, number)) return true;
  return start_timer(self, self.tid, number, self.last_cpu_ns) ||
         (self.begins != 0 && open_starter(self, number));
}

// For another thread; the caller holds the lock. Events take over at its first sample.
[[gnu::noinline]] void start_clock_of(ThreadSampler& other) {
  const int number = sampling_signal(), tid = agent::load_acquire(other.tid);
  uint64_t now_ns = 0;
  const bool wanted = number != 0 && tid != 0 && agent::load(other.rests) == 0;
  if (!wanted || !cpu_ns_of(tid, now_ns)) return;
  if (other.last_cpu_ns == 0) other.last_cpu_ns = other.due_ns = now_ns;  // it has been waiting
  other.begins = clocks_are_events();
  if (!start_timer(other, tid, number, other.due_ns)) g_agent->dropped("samples of a thread", 1);
}

// The caller holds the lock. Starts the clocks of threads that did not get it in time, as when a
// thousand threads begin at once on a busy machine.
void start_clocks_left_behind() {
  if (agent::load(g_left_behind) == 0) return;
  agent::store(g_left_behind, 0u);
  for (ThreadSampler* one = g_all; one != nullptr; one = one->next_of_all) {
    if (__atomic_exchange_n(&one->left_behind, 0, __ATOMIC_ACQUIRE) != 0) start_clock_of(*one);
  }
}

// Whether the calling thread can leave its clock to the thread that starts waiting clocks, which
// can see it by now. It cannot if that thread may have looked before, or is gone.
bool goes_on_waiting(ThreadSampler& self) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (g_agent->recording() == 0 && agent::load(agent::g_state.waited_for) != 0) return true;
  return __atomic_exchange_n(&self.waits, 0, __ATOMIC_SEQ_CST) == 0;
}

void start_own_clock_in_turn(ThreadSampler& self) {
  if (!acquire_arming()) {
    agent::store_release(self.left_behind, 1u);
    __atomic_fetch_add(&g_left_behind, 1, __ATOMIC_RELEASE);
    return;
  }
  const bool started = self.rests != 0 || start_own_clock(self);
  start_clocks_left_behind();
  g_arming.release();
  if (!started) {
    g_agent->diagnostic(SONDE_WARNING, "cpu", "a thread is not sampled: no more timers");
  }
}

// Counts the samples that a thread without sampling would have had.
void count_rest(ThreadSampler& self) {
  uint64_t cpu_ns = 0;
  if (self.rests == 0 || self.tid == 0 || !cpu_ns_of(self.tid, cpu_ns)) return;
  const uint64_t missed = (cpu_ns - self.rests_from_ns) / g_period_ns;
  if (missed > 0) g_agent->dropped("samples", missed);
  self.rests_from_ns = cpu_ns;
}

__attribute__((destructor)) void finish() {
  if (is_silent()) return;
  const ErrnoKeeper keep;
  if (ThreadSampler* self = this_sampler()) {
    const uint32_t armed = self->armed;
    self->armed = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    record_last();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->armed = armed;
  }
  if (agent::load(g_denied) != 0) tell_denied();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    count_rest(*one);
    note_blocked(*one, g_period_ns);
    if (agent::load(one->left_behind) != 0) g_agent->dropped("samples of a thread", 1);
  }
  tell_blocked(g_agent);
}

}  // namespace

uint64_t thread_cpu_ns() { return static_cast<uint64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID)); }

uint64_t cpu_ns_of_this(ThreadSampler& self) {
  const bool show = g_turns_show && agent::load(self.started) == kEvents;
  return self.clock.now_ns(show ? agent::load(self.events[0].page) : nullptr);
}

bool cpu_ns_of(int tid, uint64_t& ns) {
  timespec now = {};
  if (clock_gettime(cpu_clock_of(tid), &now) != 0) return false;
  ns = static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  return true;
}

void prepare_arming(const struct sonde_agent* agent) { g_agent = agent; }

void prepare_clocks(uint32_t period_ns) {
  g_period_ns = period_ns;
  // A timer fires at kernel ticks, so it is too coarse for short periods.
  const bool precise = g_period_ns * ticks_per_second() >= 2'000'000'000;
  g_from_timer = precise && timers_never_interrupt();
  g_turns_show = is_linux(4, 1);
  g_by_event = g_from_timer != 0 || events_work(period_ns);
  if (g_by_event == 0) tell_denied();
}

void prepare_timers(uint32_t period_ns) {
  g_period_ns = period_ns;
  agent::store(g_from_timer, 0u);
  agent::store(g_by_event, 0u);
}

bool clocks_are_events() { return agent::load(g_by_event) != 0; }

uint32_t ticks_per_second() {
  timespec resolution = {};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return resolution.tv_nsec > 0 ? static_cast<uint32_t>(1000000000 / resolution.tv_nsec) : 100;
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
  mprotect(sampler->signal_stack, kGuardBytes, PROT_NONE);
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

void arm(ThreadSampler* sampler, bool with_clock) {
  const ErrnoKeeper keep;
  const bool waits = agent::load(sampler->waits) != 0;
  sampler->last_cpu_ns = sampler->due_ns = with_clock && !waits ? thread_cpu_ns() : 0;
  sampler->random ^= g_agent->ticks() ^ reinterpret_cast<uint64_t>(sampler);
  sampler->missed = sampler->cost_ns = sampler->has_waiting = sampler->at_launch = 0;
  sampler->clock.forget();
  agent::store(sampler->python, 0);
  set_this_sampler(sampler);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  sampler->armed = 1;
  if (with_clock) {
    sampler->rests = sampler->left_behind = 0;
    sampler->rests_from_ns = sampler->last_cpu_ns;
    lend_stack(*sampler);
  }
  // From here on, other threads may start its clock.
  const int tid = waits ? tid_without_a_call() : static_cast<int>(syscall(SYS_gettid));
  agent::store_release(sampler->tid, tid);
  if (!with_clock || (waits && goes_on_waiting(*sampler))) return;
  if (waits) sampler->last_cpu_ns = sampler->due_ns = sampler->rests_from_ns = thread_cpu_ns();
  start_own_clock_in_turn(*sampler);
}

void start_waiting_clocks() {
  if (!acquire_arming()) return;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  for (ThreadSampler* one = g_all; one != nullptr; one = one->next_of_all) {
    // A thread that has not begun starts its own.
    if (agent::load_acquire(one->tid) == 0) continue;
    if (__atomic_exchange_n(&one->waits, 0, __ATOMIC_SEQ_CST) != 0) start_clock_of(*one);
  }
  g_arming.release();
}

bool arm_other(ThreadSampler* sampler, int tid) {
  uint64_t now_ns = 0;
  if (!cpu_ns_of(tid, now_ns)) return false;
  sampler->bounds = {};
  sampler->last_cpu_ns = sampler->due_ns = sampler->rests_from_ns = now_ns;
  sampler->random ^= g_agent->ticks() ^ reinterpret_cast<uint64_t>(sampler);
  sampler->missed = sampler->cost_ns = sampler->has_waiting = sampler->at_launch = 0;
  sampler->begins = sampler->rests = 0;
  agent::store(sampler->python, 0);
  sampler->armed = 1;
  agent::store_release(sampler->tid, tid);
  if (!acquire_arming()) return false;
  const int number = sampling_signal();
  const bool started = number != 0 && start_timer(*sampler, tid, number, now_ns);
  g_arming.release();
  return started;
}

void forget_other(ThreadSampler* sampler) {
  const bool alone = acquire_arming();
  sampler->armed = 0;
  agent::store(sampler->tid, 0);
  stop_clock(*sampler);
  if (alone) g_arming.release();
  give_back(sampler);
}

void end_silence() { agent::store(g_silent, 0u); }

bool is_silent() { return agent::load(g_silent) != 0; }

void silence() {
  const bool alone = acquire_arming();
  agent::store(g_silent, 1);
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load_acquire(one->tid) != 0) stop_clock(*one);
  }
  if (alone) g_arming.release();
}

void disarm() {
  if (is_silent()) return;
  const ErrnoKeeper keep;
  ThreadSampler* sampler = this_sampler();
  if (sampler == nullptr) return;
  sampler->armed = 0;
  record_last();
  count_rest(*sampler);
  note_blocked(*sampler, g_period_ns);
  const bool alone = acquire_arming();
  agent::store(sampler->tid, 0);
  agent::store(sampler->left_behind, 0u);
  agent::store(sampler->waits, 0u);
  stop_clock(*sampler);
  if (alone) start_clocks_left_behind();
  if (alone) g_arming.release();
  set_this_sampler(nullptr);
  if (take_stack_back(*sampler)) give_back(sampler);
}

void arm_again_in_child(bool with_clock) {
  forget_blocked();
  g_free_lock.reset();
  g_arming.reset();
  ThreadSampler* sampler = this_sampler();
  for (ThreadSampler* other = g_all; other != nullptr; other = other->next_of_all) {
    other->tid = 0;
    other->waits = 0;
  }
  if (sampler == nullptr) return;
  sampler->timer = -1;
  for (Event& event : sampler->events) event = {};
  sampler->starter = {};
  sampler->started = 0;
  arm(sampler, with_clock);
}

uint32_t schedule_next(ThreadSampler& self, uint64_t cpu_ns, uint64_t elapsed_ns) {
  // Not while recording is off: each switch to a thread with events costs the kernel a microsecond.
  if (self.begins != 0 && g_agent->recording() != 0 && begin_events(self)) return 0;
  const int timer = agent::load(self.timer);
  if (timer >= 0) return schedule(self, timer, cpu_ns);
  start_next_event(self);
  return count_missed(self, elapsed_ns);
}

void rest(ThreadSampler& self) {
  const uint64_t mask = bit_of(sampling_signal());
  const uint64_t before = block(mask);
  const bool alone = acquire_arming();
  self.rests_from_ns = thread_cpu_ns();
  agent::store(self.rests, 1);
  stop_clock(self);
  if (alone) g_arming.release();
  siginfo_t others[8], info;
  uint32_t count = 0;
  while (next_pending(mask, info) != 0) {
    // Its page is gone, so is_of_a_clock() does not recognise it.
    const bool of_event = info.si_code == POLL_IN;
    if (!of_event && !is_of_a_clock(info) && count < 8) others[count++] = info;
  }
  while (count > 0) send_again(others[--count]);
  set_mask(before);
}

void change_signal(int before, void (*between)()) {
  const bool alone = acquire_arming();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load_acquire(one->tid) != 0) stop_clock(*one);
  }
  ignore(before);
  agent::store(g_by_event, 0);
  between();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    const int tid = agent::load_acquire(one->tid);
    uint64_t now_ns = 0;
    agent::store(one->left_behind, 0u);
    const bool clockless = agent::load(one->rests) != 0 || agent::load(one->waits) != 0;
    if (tid != 0 && !clockless && cpu_ns_of(tid, now_ns)) {
      start_timer(*one, tid, sampling_signal(), now_ns);
    }
  }
  if (alone) g_arming.release();
}

}  // namespace sonde::cpu
