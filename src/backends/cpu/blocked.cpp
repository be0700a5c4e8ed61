#include "backends/cpu/blocked.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/sampler.h"
#include "base/helper_thread.h"

namespace sonde::cpu {

namespace {

// Longer waits are recorded in pieces, so that little is lost if the process is killed.
constexpr uint64_t kLongestPiece = 100'000'000;
constexpr size_t kStackBytes = 512 * 1024;

const struct sonde_agent* g_agent = nullptr;
uint32_t g_period_ns = 0;
uint32_t g_own_module = 0;
bool g_watching = false;
agent::BoundedLock g_looking;  // held while looking; at exit it is never released
int g_tid = 0;                 // of the watching thread; 0: not known yet
uint32_t g_leave = 0;
uint64_t g_last_ns = 0;
char g_packed[kPackedBytes];

char* put_text(char* end, const char* text) {
  while (*text != '\0') *end++ = *text++;
  *end = '\0';
  return end;
}

// Reads the whole file, which is small; returns its length, or -1.
ssize_t read_syscall_file(int tid, char* text, size_t bytes) {
  char path[64], digits[12];
  char* digit = digits + sizeof digits - 1;
  *digit = '\0';
  for (int left = tid; left > 0; left /= 10) *--digit = static_cast<char>('0' + left % 10);
  put_text(put_text(put_text(path, "/proc/self/task/"), digit), "/syscall");
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t got = read(fd, text, bytes - 1);
  close(fd);
  if (got >= 0) text[got] = '\0';
  return got;
}

struct Place {
  uint64_t stack_pointer = 0, pc = 0;
};

// Where a thread left user mode: the last two numbers of the line. False if it runs, or is about
// to.
bool place_of(int tid, Place& place) {
  char text[256];
  const ssize_t got = read_syscall_file(tid, text, sizeof text);
  if (got <= 0 || text[0] == 'r') return false;  // "running"
  uint64_t numbers[2] = {};
  uint32_t count = 0;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    const uint64_t number = strtoull(at, &end, 0);
    if (end == at) {
      ++at;
      continue;
    }
    numbers[0] = numbers[1];
    numbers[1] = number;
    ++count;
    at = end;
  }
  place = {numbers[0], numbers[1]};
  return count >= 3 && place.stack_pointer != 0 && place.pc != 0;
}

// Records the wait so far. False: try again later.
bool record(ThreadSampler& sampler) {
  BlockedThread& blocked = sampler.blocked;
  if (blocked.wall_ns == 0) return true;
  sonde_stack stack;
  if (!pack(g_agent, g_own_module, blocked.moment, g_packed, stack)) return false;
  const auto tid = static_cast<uint32_t>(blocked.tid);
  if (g_agent->blocked(&stack, tid, blocked.wall_ns) == 0) return false;
  blocked.wall_ns = 0;
  blocked.moment.ticks = g_agent->ticks();
  return true;
}

// Takes the thread's stack; false if the thread is not blocked.
bool take_blocked(ThreadSampler& sampler, int tid, uint64_t cpu_ns) {
  Moment& moment = sampler.blocked.moment;
  Place place;
  if (!place_of(tid, place)) return false;
  unwind_blocked(place.pc, place.stack_pointer, moment.stack);
  walk_python_of(g_agent, agent::load(sampler.python), moment.python);
  uint64_t after_ns = 0;
  return cpu_ns_of(tid, after_ns) && after_ns == cpu_ns;
}

void look_at(ThreadSampler& sampler, uint64_t elapsed_ns) {
  BlockedThread& blocked = sampler.blocked;
  const int tid = agent::load_acquire(sampler.tid);
  uint64_t cpu_ns = 0;
  const bool there = tid != 0 && cpu_ns_of(tid, cpu_ns);
  if (there && blocked.is_blocked && tid == blocked.tid && cpu_ns == blocked.cpu_ns) {
    blocked.wall_ns += elapsed_ns;
    if (blocked.wall_ns >= kLongestPiece) record(sampler);
    return;
  }
  if (blocked.is_blocked && !record(sampler)) g_agent->dropped("samples", 1);
  blocked.is_blocked = false;
  if (!there) return;
  blocked.wall_ns = 0;
  if (!take_blocked(sampler, tid, cpu_ns)) return;
  blocked.tid = tid;
  blocked.cpu_ns = cpu_ns;
  blocked.is_blocked = true;
  blocked.moment.ticks = g_agent->ticks();
  blocked.wall_ns = elapsed_ns;
}

void look_at_all() {
  const auto now_ns = static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
  const uint64_t elapsed_ns = now_ns - g_last_ns;
  g_last_ns = now_ns;
  if (g_agent->recording() == 0) return;
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    look_at(*one, elapsed_ns);
  }
}

// Takes a last look, and records the waits that last until now.
__attribute__((destructor)) void end_watch() {
  if (is_silent()) return;
  const ErrnoKeeper keep;
  if (!g_watching || !g_looking.acquire() || g_agent->recording() == 0) return;
  look_at_all();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (one->blocked.is_blocked && !record(*one)) g_agent->dropped("samples", 1);
  }
}

// Between half and one and a half periods, so that the looks do not fall into step with the
// program.
uint64_t next_pause(uint64_t& random) {
  random = random * 6364136223846793005 + 1442695040888963407;
  return g_period_ns / 2 + (random >> 32) * g_period_ns / (uint64_t{1} << 32);
}

void* watch(void*) {
  pthread_setname_np(pthread_self(), "sonde-sampler");
  agent::store(g_tid, static_cast<int>(syscall(SYS_gettid)));
  uint64_t random = g_agent->ticks();
  for (;;) {
    const uint64_t pause_ns = next_pause(random);
    const timespec pause = {static_cast<time_t>(pause_ns / 1000000000),
                            static_cast<long>(pause_ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (agent::load(g_leave) != 0 || !g_looking.try_acquire()) return nullptr;
    look_at_all();
    g_looking.release();
  }
}

bool start_thread() {
  g_last_ns = static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
  agent::store(g_tid, 0);
  agent::store(g_leave, 0u);
  return start_helper_thread(watch, nullptr, kStackBytes);
}

}  // namespace

bool where_blocked(int tid, uint64_t& pc, uint64_t& stack_pointer) {
  Place place;
  if (!place_of(tid, place)) return false;
  pc = place.pc;
  stack_pointer = place.stack_pointer;
  return true;
}

void watch_blocked(const struct sonde_agent* agent, uint32_t period_ns, uint32_t own_module) {
  g_agent = agent;
  g_period_ns = period_ns;
  g_own_module = own_module;
  char text[256];
  if (read_syscall_file(static_cast<int>(syscall(SYS_gettid)), text, sizeof text) <= 0) {
    agent->diagnostic(SONDE_WARNING, "cpu",
                      "blocked threads are not sampled: /proc/self/task/*/syscall cannot be read");
    return;
  }
  g_watching = start_thread();
  if (!g_watching) {
    agent->diagnostic(SONDE_WARNING, "cpu", "blocked threads are not sampled: no more threads");
  }
}

void wait_until_gone(const int& its_tid) {
  const int64_t deadline = clock_ns(CLOCK_MONOTONIC) + 3'000'000'000;
  do {
    const int tid = agent::load(its_tid);
    if (tid != 0 && syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH) return;
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  } while (clock_ns(CLOCK_MONOTONIC) < deadline);
}

bool pause_watch() {
  if (!g_watching) return false;
  const ErrnoKeeper keep;
  agent::store(g_leave, 1u);
  wait_until_gone(g_tid);
  return true;
}

void resume_watch() {
  const ErrnoKeeper keep;
  g_watching = start_thread();
}

void watch_again_in_child() {
  if (!g_watching) return;
  g_looking.reset();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    one->blocked.is_blocked = false;
  }
  g_watching = start_thread();
}

}  // namespace sonde::cpu
