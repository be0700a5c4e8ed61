// The thread that polls for finished ops if the program does not: the program may enqueue and then
// sleep, or be killed. Polling instead of clSetEventCallback, because runtimes hold a reference to
// an event until its callbacks have run, which the program could see, and because a callback of
// ours would delay the program's, which run in one thread. Also the exit handler and the fork
// handler.
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/opencl/kernels.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/pending.h"
#include "base/helper_thread.h"
#include "base/time.h"

namespace sonde::opencl {

namespace {

constexpr uint64_t kPollNs = 4'000'000;
constexpr uint64_t kScanShare = 20;  // at most one part in this many of the time is spent polling
constexpr int kIdlePolls = 250;      // polls without anything pending before the thread sleeps
constexpr size_t kStackBytes = 256 * 1024;

pthread_once_t g_handlers_once = PTHREAD_ONCE_INIT;
pthread_mutex_t g_scan_lock = PTHREAD_MUTEX_INITIALIZER;  // held while polling
std::atomic<bool> g_running;
std::atomic<uint32_t> g_asleep;

void pause_ns(uint64_t ns) {
  const timespec pause = {static_cast<time_t>(ns / 1'000'000'000u),
                          static_cast<long>(ns % 1'000'000'000u)};
  nanosleep(&pause, nullptr);
}

bool anything_pending() {
  for (Queue* queue = first_queue(); queue != nullptr;
       queue = queue->next_of_all.load(std::memory_order_relaxed)) {
    if (queue->pending.load() != 0) return true;
  }
  return false;
}

void sleep_until_launch() {
  g_asleep.store(1);
  if (!anything_pending() && !dormant())
    syscall(SYS_futex, &g_asleep, FUTEX_WAIT_PRIVATE, 1, nullptr);
  g_asleep.store(0);
}

// In a process that was attached to: whether the thread may end. A concurrent restart either sees
// it end or keeps it running.
bool may_leave() {
  if (!dormant() || anything_pending()) return false;
  g_running.store(false);
  return dormant() || g_running.exchange(true);
}

void* collect(void*) {
  prctl(PR_SET_NAME, "sonde-opencl");
  int idle = 0;
  for (;;) {
    if (may_leave()) return nullptr;
    uint64_t spent = 0;
    if (anything_pending()) {
      const int64_t begin = monotonic_now_ns();
      pthread_mutex_lock(&g_scan_lock);  // never acquired after at_exit()
      reap_everything();
      pthread_mutex_unlock(&g_scan_lock);
      spent = static_cast<uint64_t>(monotonic_now_ns() - begin);
      idle = 0;
    } else {
      ++idle;
    }
    if (idle < kIdlePolls) {
      pause_ns(spent * kScanShare > kPollNs ? spent * kScanShare : kPollNs);
    } else {
      sleep_until_launch();
      idle = 0;
    }
  }
  return nullptr;
}

// Registered after the runtime has initialised, so that it runs before the runtime is torn down.
// Keeps the lock: from here on the thread must not call into the runtime.
void at_exit() {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (pthread_mutex_timedlock(&g_scan_lock, &until) == 0) reap_everything();
  uint32_t unfinished = 0;
  for (Queue* queue = first_queue(); queue != nullptr;
       queue = queue->next_of_all.load(std::memory_order_relaxed)) {
    unfinished += queue->pending.load();
  }
  if (unfinished == 0) return;
  char text[120];
  snprintf(text, sizeof text,
           "%u operations had not finished when the program exited: only their "
           "calls are recorded",
           unfinished);
  agent().diagnostic(SONDE_INFO, "opencl", text);
}

void in_child() {
  for (Queue* queue = first_queue(); queue != nullptr;
       queue = queue->next_of_all.load(std::memory_order_relaxed)) {
    forget_pending(queue);
  }
  g_scan_lock = PTHREAD_MUTEX_INITIALIZER;
  reset_queue_locks();
  reset_device_locks();
  reset_kernel_locks();
  reset_memory_locks();
  g_asleep.store(0);
  g_running.store(false);
}

void install_handlers() {
  atexit(at_exit);
  pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace

void start_collector() {
  if (dormant()) return;
  pthread_once(&g_handlers_once, install_handlers);
  if (g_running.exchange(true)) return;
  if (!start_helper_thread(collect, nullptr, kStackBytes)) {
    agent().diagnostic(SONDE_WARNING, "opencl",
                       "cannot start the collector thread: ops that the program does not wait for "
                       "may be missing if it is killed");
  }
}

void wake_collector() {
  if (!g_running.load(std::memory_order_relaxed)) start_collector();
  if (g_asleep.load() != 0 && g_asleep.exchange(0) != 0) {
    syscall(SYS_futex, &g_asleep, FUTEX_WAKE_PRIVATE, 1);
  }
}

void end_collector() {
  constexpr uint64_t kLookNs = 2'000'000;
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks && g_running.load(); ++i) {
    if (g_asleep.load() != 0 && g_asleep.exchange(0) != 0) {
      syscall(SYS_futex, &g_asleep, FUTEX_WAKE_PRIVATE, 1);
    }
    pause_ns(kLookNs);
  }
}

}  // namespace sonde::opencl
