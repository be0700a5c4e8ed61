// Ops that complete on a signal of the program: its copies, and dispatches that it wants to be
// notified about. Found by their signal, which has at most one such op.
#include <pthread.h>

#include "backends/rocm/free_list.h"
#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/queues.h"

namespace sonde::hsa {
namespace {

constexpr size_t kBuckets = 1024;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
ProgramSignal* g_buckets[kBuckets];
rocm::FreeList<ProgramSignal> g_free;
std::atomic<uint64_t> g_count;
std::atomic<uint64_t> g_being_recorded;  // removed, but not recorded yet; changed under g_lock

size_t bucket_of(Signal signal) { return ((signal.handle >> 6) * 0x9e3779b97f4a7c15u) >> 54; }

// The signal's value shows that the op has finished, unless the program has set it again meanwhile.
// The end time is written before the value, so a changed end time counts only at the next look, or
// when the program reuses the signal for another op.
bool finished(ProgramSignal* pending, bool used_again) {
  if (value_of(pending->signal) < pending->value) return true;
  if (end_of(pending->signal) == pending->end_ts) return false;
  const bool seen = pending->end_seen;
  pending->end_seen = true;
  return seen || used_again;
}

ProgramSignal** find(Signal signal) {
  ProgramSignal** at = &g_buckets[bucket_of(signal)];
  while (*at != nullptr && (*at)->signal.handle != signal.handle) at = &(*at)->next;
  return at;
}

ProgramSignal* unlink(ProgramSignal** at) {
  ProgramSignal* pending = *at;
  *at = pending->next;
  g_count.fetch_sub(1, std::memory_order_relaxed);
  return pending;
}

// Removes a finished op and reads its times. Under the lock, because once the op is removed, the
// program's next op may use the signal and overwrite them.
ProgramSignal* take(ProgramSignal** at) {
  ProgramSignal* pending = unlink(at);
  g_being_recorded.store(g_being_recorded.load(std::memory_order_relaxed) + 1);
  Times times = {};
  if (pending->queue != nullptr) {
    next().profiling_get_dispatch_time(pending->queue->device->handle, pending->signal, &times);
  } else {
    next().profiling_get_async_copy_time(pending->signal, &times);
  }
  pending->op.start = times.start;
  pending->op.end = times.end;
  return pending;
}

// Records a chain of removed ops and recycles their memory.
void finish(ProgramSignal* chain) {
  for (ProgramSignal* pending = chain; pending != nullptr;) {
    if (pending->queue != nullptr) advance(pending->queue, pending->position + 1);
    agent().op(&pending->op);
    note_end(pending->noted, tick_ns());
    ProgramSignal* after = pending->next;
    pthread_mutex_lock(&g_lock);
    g_free.give(pending);
    g_being_recorded.store(g_being_recorded.load(std::memory_order_relaxed) - 1);
    pthread_mutex_unlock(&g_lock);
    pending = after;
  }
}

}  // namespace

bool any_program_signals() { return g_count.load(std::memory_order_acquire) != 0; }

bool settle(Signal signal) {
  if (!any_program_signals()) return true;
  ProgramSignal* done = nullptr;
  bool settled = true;
  pthread_mutex_lock(&g_lock);
  ProgramSignal** at = find(signal);
  if (*at != nullptr) {
    settled = finished(*at, true);
    if (settled) {
      done = take(at);
      done->next = nullptr;
    }
  }
  pthread_mutex_unlock(&g_lock);
  finish(done);
  return settled;
}

bool forget_failed(Signal signal) {
  pthread_mutex_lock(&g_lock);
  ProgramSignal** at = find(signal);
  ProgramSignal* entry = *at != nullptr ? unlink(at) : nullptr;
  if (entry != nullptr) g_free.give(entry);
  pthread_mutex_unlock(&g_lock);
  return entry != nullptr;
}

void forget(Signal signal) {
  if (!settle(signal) && forget_failed(signal)) agent().dropped("ops without a signal", 1);
}

bool add_program_signal(const ProgramSignal& pending) {
  pthread_mutex_lock(&g_lock);
  ProgramSignal* entry = g_free.take();
  if (entry != nullptr) {
    *entry = pending;
    ProgramSignal** bucket = &g_buckets[bucket_of(pending.signal)];
    entry->next = *bucket;
    *bucket = entry;
    g_count.fetch_add(1, std::memory_order_release);
  }
  pthread_mutex_unlock(&g_lock);
  return entry != nullptr;
}

uint64_t program_signals_being_recorded() { return g_being_recorded.load(); }

namespace {

// Records the ops of a queue, or all, that have finished. If their signals end as well, the others
// are forgotten; returns how many.
uint64_t record_finished(const Queue* queue, bool signals_end) {
  ProgramSignal* done = nullptr;
  uint64_t lost = 0;
  pthread_mutex_lock(&g_lock);
  for (ProgramSignal*& bucket : g_buckets) {
    for (ProgramSignal** at = &bucket; *at != nullptr;) {
      const bool is_meant = queue == nullptr || (*at)->queue == queue;
      if (is_meant && finished(*at, signals_end)) {
        ProgramSignal* pending = take(at);
        pending->next = done;
        done = pending;
      } else if (is_meant && signals_end) {
        g_free.give(unlink(at));
        ++lost;
      } else {
        at = &(*at)->next;
      }
    }
  }
  pthread_mutex_unlock(&g_lock);
  finish(done);
  return lost;
}

}  // namespace

uint64_t lose_program_signals(const Queue* queue) { return record_finished(queue, true); }

void collect_program_signals() { record_finished(nullptr, false); }

}  // namespace sonde::hsa
