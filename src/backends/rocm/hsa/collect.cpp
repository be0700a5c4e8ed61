// Takes the times of finished dispatches and records them: after the program has waited for
// something, so that what it knows is recorded; when a queue gets full; and from a thread that
// polls every few milliseconds while there is work, and sleeps while there is none.
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/counting.h"
#include "base/errno_keeper.h"
#include "base/helper_thread.h"

namespace sonde::hsa {
namespace {

constexpr long kLookNs = 2'000'000;
constexpr int kLooksBeforeSleep = 50;

// A futex. 1: the collector sleeps until it is woken.
uint32_t g_sleeping;
int64_t g_tick_ns;  // 0 while the collector sleeps
std::atomic<bool> g_runs;

void futex(int operation, uint32_t value, const timespec* most = nullptr) {
  syscall(SYS_futex, &g_sleeping, operation, value, most, nullptr, 0);
}

bool all_idle() {
  for (Queue* queue = g_queues.load(std::memory_order_acquire); queue != nullptr;
       queue = queue->next) {
    if (!idle(*queue)) return false;
  }
  return !any_program_signals() && !any_counted();
}

// Sleeps until there is work. If a reader watches the board, it may ask for threads meanwhile.
// Whoever queues work looks for a sleeper without a fence in between, since each launch would pay
// for it: the load may be before the store, and work queued at the very moment of falling asleep
// wakes nobody. So the first sleep is short, and whoever has slept looks for work.
void sleep_until_work() {
  constexpr timespec kLook = {0, 100'000'000}, kFirst = {0, kLookNs};
  const timespec* most = &kFirst;
  while (__atomic_load_n(&g_sleeping, __ATOMIC_ACQUIRE) != 0 && !dormant()) {
    futex(FUTEX_WAIT_PRIVATE, 1, most);
    tell_threads();
    if (!all_idle()) __atomic_store_n(&g_sleeping, 0, __ATOMIC_RELAXED);
    most = is_watched() ? &kLook : nullptr;
  }
}

// In a process that was attached to: whether the thread may end. A concurrent restart either sees
// it end or keeps it running.
bool may_leave() {
  if (!dormant() || !all_idle()) return false;
  __atomic_store_n(&g_tick_ns, 0, __ATOMIC_RELAXED);
  g_runs.store(false);
  return dormant() || g_runs.exchange(true);
}

void* run_collector(void*) {
  prctl(PR_SET_NAME, "sonde-hsa");
  prepare_pages();
  int quiet = 0;
  for (;;) {
    __atomic_store_n(&g_tick_ns, board_now_ns(), __ATOMIC_RELAXED);
    const timespec pause = {0, kLookNs};
    nanosleep(&pause, nullptr);
    if (is_open()) {
      collect_everything();
      read_clock_again();
    }
    tell_threads();
    if (may_leave()) return nullptr;
    quiet = all_idle() ? quiet + 1 : 0;
    if (quiet < kLooksBeforeSleep) continue;
    quiet = 0;
    __atomic_store_n(&g_tick_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&g_sleeping, 1, __ATOMIC_SEQ_CST);
    if (!all_idle()) {
      __atomic_store_n(&g_sleeping, 0, __ATOMIC_RELAXED);
      continue;
    }
    sleep_until_work();
  }
  return nullptr;
}

void finish(Queue* queue, const Dispatch& dispatch, int64_t now_ns) {
  if (!dispatch.silent) {
    Times times = {};
    next().profiling_get_dispatch_time(queue->device->handle, dispatch.signal, &times);
    struct sonde_op op = kernel_op(*queue, dispatch);
    op.start = times.start;
    op.end = times.end;
    agent().op(&op);
    note_end(dispatch.noted, now_ns);
  }
  if (dispatch.wanted.handle != 0) next().signal_subtract_screlease(dispatch.wanted, 1);
}

// Records up to `most` finished dispatches of a queue that this thread has claimed; returns how
// many there were. Gives their memory back in one go, because each time costs locked instructions.
uint64_t collect_some(Queue* queue, uint64_t most) {
  if (queue->dead.load(std::memory_order_relaxed)) return 0;
  const uint64_t head = queue->head.load(std::memory_order_relaxed);
  const uint64_t tail = queue->tail.load(std::memory_order_acquire);
  int64_t now_ns = 0;
  Dispatch *newest = nullptr, *oldest = nullptr;
  uint64_t done = 0;
  for (; done < most && head + done != tail; ++done) {
    Dispatch* front = queue->over->next.load(std::memory_order_acquire);
    if (value_of(front->signal) > 0) break;
    if (done == 0) now_ns = tick_ns();
    finish(queue, *front, now_ns);
    Dispatch* over = queue->over;
    over->next.store(newest, std::memory_order_relaxed);
    newest = over;
    if (oldest == nullptr) oldest = over;
    queue->over = front;
  }
  if (done == 0) return 0;
  give_back(queue, newest, oldest);
  advance(queue, queue->over->position + 1);
  queue->head.store(head + done, std::memory_order_release);
  return done;
}

}  // namespace

void give_back(Queue* queue, Dispatch* first, Dispatch* last) {
  Dispatch* known = queue->returned.load(std::memory_order_relaxed);
  do {
    last->next.store(known, std::memory_order_relaxed);
  } while (!queue->returned.compare_exchange_weak(known, first, std::memory_order_release,
                                                  std::memory_order_relaxed));
}

void advance(Queue* queue, uint64_t consumed) {
  uint64_t known = queue->consumed.load(std::memory_order_relaxed);
  while (known < consumed) {
    if (!queue->consumed.compare_exchange_weak(known, consumed)) continue;
    return note_consumed(*queue, consumed);
  }
}

// All members are named, so that the compiler need not zero the struct first.
struct sonde_op kernel_op(const Queue& queue, const Dispatch& dispatch) {
  return {.kind = SONDE_OP_KERNEL,
          .name = dispatch.name,
          .queue = queue.id,
          .clock = g_clock,
          .correlation = dispatch.launch.correlation,
          .queued = 0,
          .submitted = 0,
          .start = 0,
          .end = 0,
          .bytes = 0,
          .grid = {dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]},
          .group = {dispatch.group[0], dispatch.group[1], dispatch.group[2]},
          .status = 0,
          .src = 0,
          .dst = 0,
          .size = {0, 0, 0},
          .group_segment_bytes = dispatch.group_segment_bytes,
          .private_segment_bytes = dispatch.private_segment_bytes,
          .flags = dispatch.launch.flags,
          .src_device = 0,
          .dst_device = 0,
          .stream = dispatch.launch.stream};
}

void collect_claimed(Queue* queue) {
  constexpr uint64_t kMost = 64;  // another thread may wait for this room
  while (collect_some(queue, kMost) == kMost) {
  }
}

void collect_queue(Queue* queue) {
  if (queue->collecting.exchange(true, std::memory_order_acquire)) return;
  collect_claimed(queue);
  queue->collecting.store(false, std::memory_order_release);
}

void collect_everything() {
  const ErrnoKeeper keep;
  step_counting();
  for (Queue* queue = g_queues.load(std::memory_order_acquire); queue != nullptr;
       queue = queue->next) {
    if (!idle(*queue)) collect_queue(queue);
  }
  if (any_program_signals()) collect_program_signals();
}

void work_was_queued() {
  if (__atomic_load_n(&g_sleeping, __ATOMIC_SEQ_CST) == 0) return;
  const ErrnoKeeper keep;
  if (__atomic_exchange_n(&g_sleeping, 0, __ATOMIC_SEQ_CST) != 0) futex(FUTEX_WAKE_PRIVATE, 1);
}

int64_t tick_ns() {
  const int64_t kept_ns = __atomic_load_n(&g_tick_ns, __ATOMIC_RELAXED);
  return kept_ns != 0 ? kept_ns : board_now_ns();
}

void start_collector() {
  if (g_runs.exchange(true)) return;
  if (!start_helper_thread(run_collector, nullptr, 512 * 1024)) {
    rocm::report(SONDE_WARNING, kSource,
                 "no thread to collect finished kernels: the last ones may be missing");
  }
}

void end_collector() {
  constexpr timespec kPause = {0, 2'000'000};
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks && (g_runs.load() || any_ringer()); ++i) {
    if (__atomic_exchange_n(&g_sleeping, 0, __ATOMIC_SEQ_CST) != 0) futex(FUTEX_WAKE_PRIVATE, 1);
    nanosleep(&kPause, nullptr);
  }
}

// ---- waits of the program ----

namespace {

int64_t wait_relaxed(Signal signal, uint32_t condition, int64_t value, uint64_t timeout,
                     uint32_t state) {
  const int64_t seen = next().signal_wait_relaxed(signal, condition, value, timeout, state);
  collect_everything();
  return seen;
}

int64_t wait_scacquire(Signal signal, uint32_t condition, int64_t value, uint64_t timeout,
                       uint32_t state) {
  const int64_t seen = next().signal_wait_scacquire(signal, condition, value, timeout, state);
  collect_everything();
  return seen;
}

uint32_t wait_any(uint32_t count, Signal* signals, uint32_t* conditions, int64_t* values,
                  uint64_t timeout, uint32_t state, int64_t* satisfying) {
  const uint32_t found =
      next().signal_wait_any(count, signals, conditions, values, timeout, state, satisfying);
  collect_everything();
  return found;
}

Status destroy_signal(Signal signal) {
  forget(signal);
  return next().signal_destroy(signal);
}

}  // namespace

void hook_waits(Functions* hooks) {
  hooks->signal_wait_relaxed = wait_relaxed;
  hooks->signal_wait_scacquire = wait_scacquire;
  hooks->signal_wait_any = wait_any;
  hooks->signal_destroy = destroy_signal;
}

}  // namespace sonde::hsa
