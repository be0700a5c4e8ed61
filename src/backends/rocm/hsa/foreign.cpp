// Ops that complete on a signal of the program's: the copies, and the dispatches that the program
// wants to hear of. Found by their signal; a signal has at most one.
#include <pthread.h>
#include <stdlib.h>

#include "backends/rocm/hsa/queues.h"

namespace sonde::hsa {
namespace {

constexpr size_t kBuckets = 1024;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Foreign* g_buckets[kBuckets];
Foreign* g_free;
std::atomic<uint64_t> g_count;

size_t bucket_of(Signal signal) { return ((signal.handle >> 6) * 0x9e3779b97f4a7c15u) >> 54; }

// The value says that the op has finished, unless the program has set it again meanwhile. The
// time of the end is written before the value, so it counts when it is still new a look later, or
// when the program gives the signal to another op.
bool finished(Foreign* foreign, bool used_again) {
  if (value_of(foreign->signal) < foreign->value) return true;
  if (end_of(foreign->signal) == foreign->end_ts) return false;
  const bool seen = foreign->end_seen;
  foreign->end_seen = true;
  return seen || used_again;
}

Foreign** find(Signal signal) {
  Foreign** at = &g_buckets[bucket_of(signal)];
  while (*at != nullptr && (*at)->signal.handle != signal.handle) at = &(*at)->next;
  return at;
}

Foreign* unlink(Foreign** at) {
  Foreign* foreign = *at;
  *at = foreign->next;
  g_count.fetch_sub(1, std::memory_order_relaxed);
  return foreign;
}

// Takes a finished op out, with its times. They are read under the lock: once the signal is not
// found here any more, the program's next op may use it and overwrite them.
Foreign* take(Foreign** at) {
  Foreign* foreign = unlink(at);
  Times times = {};
  if (foreign->queue != nullptr) {
    next().profiling_get_dispatch_time(foreign->queue->device->handle, foreign->signal, &times);
  } else {
    next().profiling_get_async_copy_time(foreign->signal, &times);
  }
  foreign->op.start = times.start;
  foreign->op.end = times.end;
  return foreign;
}

// Records a chain of ops that were taken out and keeps their memory.
void finish(Foreign* chain) {
  for (Foreign* foreign = chain; foreign != nullptr;) {
    if (foreign->queue != nullptr) advance(foreign->queue, foreign->position + 1);
    agent().op(&foreign->op);
    Foreign* after = foreign->next;
    pthread_mutex_lock(&g_lock);
    foreign->next = g_free;
    g_free = foreign;
    pthread_mutex_unlock(&g_lock);
    foreign = after;
  }
}

}  // namespace

bool any_foreign() { return g_count.load(std::memory_order_acquire) != 0; }

bool settle(Signal signal) {
  if (!any_foreign()) return true;
  Foreign* done = nullptr;
  bool settled = true;
  pthread_mutex_lock(&g_lock);
  Foreign** at = find(signal);
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
  Foreign** at = find(signal);
  Foreign* entry = *at != nullptr ? unlink(at) : nullptr;
  if (entry != nullptr) {
    entry->next = g_free;
    g_free = entry;
  }
  pthread_mutex_unlock(&g_lock);
  return entry != nullptr;
}

uint64_t lose_foreign(const Queue* queue) {
  Foreign* done = nullptr;
  uint64_t lost = 0;
  pthread_mutex_lock(&g_lock);
  for (Foreign*& bucket : g_buckets) {
    for (Foreign** at = &bucket; *at != nullptr;) {
      if (queue != nullptr && (*at)->queue != queue) {
        at = &(*at)->next;
        continue;
      }
      const bool over = finished(*at, true);
      Foreign* foreign = over ? take(at) : unlink(at);
      Foreign*& chain = over ? done : g_free;
      foreign->next = chain;
      chain = foreign;
      lost += over ? 0 : 1;
    }
  }
  pthread_mutex_unlock(&g_lock);
  finish(done);
  return lost;
}

void forget(Signal signal) {
  if (!settle(signal) && forget_failed(signal)) agent().dropped("ops without a signal", 1);
}

bool add_foreign(const Foreign& foreign) {
  pthread_mutex_lock(&g_lock);
  Foreign* entry = g_free;
  if (entry != nullptr) {
    g_free = entry->next;
  } else {
    entry = static_cast<Foreign*>(malloc(sizeof(Foreign)));
  }
  if (entry != nullptr) {
    *entry = foreign;
    Foreign** bucket = &g_buckets[bucket_of(foreign.signal)];
    entry->next = *bucket;
    *bucket = entry;
    g_count.fetch_add(1, std::memory_order_release);
  }
  pthread_mutex_unlock(&g_lock);
  return entry != nullptr;
}

void collect_foreign() {
  Foreign* done = nullptr;
  pthread_mutex_lock(&g_lock);
  for (Foreign*& bucket : g_buckets) {
    for (Foreign** at = &bucket; *at != nullptr;) {
      if (!finished(*at, false)) {
        at = &(*at)->next;
        continue;
      }
      Foreign* foreign = take(at);
      foreign->next = done;
      done = foreign;
    }
  }
  pthread_mutex_unlock(&g_lock);
  finish(done);
}

}  // namespace sonde::hsa
