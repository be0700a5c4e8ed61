// What the program's threads do, for the board, when its reader asks: for blocked threads, by
// reading their stacks. The reader stops running threads, one at a time, while the stack is read
// here (record/stopped_threads.h).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"
#ifdef __x86_64__
#include "backends/cpu/arming.h"
#include "backends/cpu/blocked.h"
#endif
#include "base/errno_keeper.h"
#include "base/time.h"

namespace sonde::hsa {

#ifdef __x86_64__
namespace {

constexpr uint32_t kSeen = 256;
constexpr int kTries = 60;
constexpr timespec kPause = {0, 300'000};

// The interpreter states of threads that have used the GPU.
struct Seen {
  uint32_t tid;
  uint64_t python;
};
Seen g_seen[kSeen];
uint32_t g_seen_count;
thread_local bool t_seen;

uint64_t python_of(uint32_t tid) {
  uint32_t count = __atomic_load_n(&g_seen_count, __ATOMIC_ACQUIRE);
  if (count > kSeen) count = kSeen;
  uint64_t python = 0;
  for (uint32_t i = 0; i < count; ++i) {
    // The last one counts: a tid may be reused.
    if (g_seen[i].tid == tid) python = g_seen[i].python;
  }
  return python;
}

void read_name(uint32_t tid, char* name, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd >= 0 ? read(fd, name, room - 1) : 0;
  if (fd >= 0) close(fd);
  name[got > 0 ? got : 0] = '\0';
  name[strcspn(name, "\n")] = '\0';
}

// Retries: a thread that polls a signal sleeps only for moments, and has to be caught in one.
void tell_thread(uint32_t tid, wire::BoardThread* entry) {
  entry->tid = tid;
  entry->runs = wire::kThreadRuns;
  entry->stack.bytes = 0;
  for (int i = 0; i < kTries; ++i) {
    uint64_t pc = 0, stack_pointer = 0, before_ns = 0, after_ns = 0;
    if (cpu::cpu_ns_of(static_cast<int>(tid), before_ns) &&
        cpu::where_blocked(static_cast<int>(tid), pc, stack_pointer) &&
        take_stack_of(tid, pc, stack_pointer, python_of(tid), &entry->stack)) {
      const bool stood = cpu::cpu_ns_of(static_cast<int>(tid), after_ns) && before_ns == after_ns;
      entry->runs = stood ? wire::kThreadBlocked : wire::kThreadMoves;
      if (stood) return;
    }
    nanosleep(&kPause, nullptr);
  }
}

struct Entry {
  uint64_t inode, offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

void tell_all(wire::Board* to) {
  alignas(8) char buffer[4096];
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  uint32_t count = 0;
  long got = 0;
  while ((got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < got && count < wire::kBoardThreads;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->length;
      const auto tid = static_cast<uint32_t>(strtoul(entry->name, nullptr, 10));
      if (tid == 0) continue;
      wire::BoardThread* told = &to->threads[count];
      read_name(tid, told->name, sizeof told->name);
      if (strncmp(told->name, "sonde-", 6) == 0) continue;
      tell_thread(tid, told);
      ++count;
    }
  }
  close(folder);
  __atomic_store_n(&to->thread_count, count, __ATOMIC_RELEASE);
}

void tell_stopped(wire::Board* to) {
  const uint32_t asked = __atomic_load_n(&to->stopped_asked, __ATOMIC_ACQUIRE);
  if (asked == to->stopped_told) return;
  const uint32_t place = to->stopped_place;
  if (place < wire::kBoardThreads) {
    wire::BoardThread& thread = to->threads[place];
    if (take_stack_stopped(thread.tid, to->stopped, python_of(thread.tid), &thread.stack))
      thread.runs = wire::kThreadStopped;
  }
  __atomic_store_n(&to->stopped_told, asked, __ATOMIC_RELEASE);
}

}  // namespace

void see_thread() {
  if (t_seen) return;
  t_seen = true;
  const uint64_t python = python_of_this_thread();
  const uint32_t place = __atomic_fetch_add(&g_seen_count, 1, __ATOMIC_RELAXED);
  if (place >= kSeen) return;
  g_seen[place].python = python;
  __atomic_store_n(&g_seen[place].tid, static_cast<uint32_t>(syscall(SYS_gettid)),
                   __ATOMIC_RELEASE);
}

void tell_threads() {
  wire::Board* to = board();
  if (to == nullptr) return;
  const uint32_t asked = __atomic_load_n(&to->threads_asked, __ATOMIC_ACQUIRE);
  if (asked == to->threads_told) return;
  const ErrnoKeeper keep;
  tell_all(to);
  __atomic_store_n(&to->threads_told, asked, __ATOMIC_RELEASE);
  // A reader that stops threads needs its answers at once, or is gone.
  constexpr int64_t kMostNs = 3'000'000'000;
  constexpr timespec kShort = {0, 50'000};
  for (const int64_t begin = monotonic_now_ns(); monotonic_now_ns() - begin < kMostNs;) {
    tell_stopped(to);
    if (__atomic_load_n(&to->stops, __ATOMIC_ACQUIRE) == 0) break;
    nanosleep(&kShort, nullptr);
  }
}
#else
void see_thread() {}
void tell_threads() {}
#endif

}  // namespace sonde::hsa
