#include "backends/hsa/queues.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "backends/hsa/calls.h"

namespace sonde::hsa {

std::atomic<Queue*> g_queues;

namespace {

constexpr int kClaims = 200;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
thread_local Queue* t_last_queue;

// A queue that was destroyed, or a new one; marked as being collected. The caller holds the lock.
Queue* free_queue() {
  for (Queue* queue = g_queues.load(); queue != nullptr; queue = queue->next) {
    if (queue->handle.load() == nullptr && !queue->collecting.exchange(true)) return queue;
  }
  auto* queue = static_cast<Queue*>(calloc(1, sizeof(Queue)));
  if (queue == nullptr) return nullptr;
  queue->collecting.store(true);
  queue->next = g_queues.load();
  g_queues.store(queue, std::memory_order_release);
  return queue;
}

// Leaves the list with nothing but what is over. False without memory or signals.
bool empty_list(Queue* queue) {
  if (queue->over == nullptr) queue->over = queue->last = take_dispatch(queue);
  if (queue->over == nullptr) return false;
  while (queue->over != queue->last) {
    Dispatch* behind = queue->over->next.load();
    give_back(queue, queue->over);
    queue->over = behind;
  }
  queue->over->next.store(nullptr);
  queue->tail.store(0);
  queue->head.store(0);
  return true;
}

// For whoever may not go on without it. False: the collector does not let go of it.
bool claim(Queue* queue) {
  constexpr timespec kPause = {0, 1'000'000};
  for (int i = 0; i < kClaims; ++i) {
    if (!queue->collecting.exchange(true, std::memory_order_acquire)) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

void destroy_chain(Dispatch* dispatch) {
  while (dispatch != nullptr) {
    Dispatch* behind = dispatch->next.load(std::memory_order_relaxed);
    next().signal_destroy(dispatch->signal);
    free(dispatch);
    dispatch = behind;
  }
}

Queue* adopt(QueueMemory* handle, const Device* device, QueueErrors* errors) {
  pthread_mutex_lock(&g_lock);
  Queue* queue = free_queue();
  const bool usable = queue != nullptr && empty_list(queue);
  if (usable) {
    queue->device = device;
    queue->errors = errors;
    queue->size = handle->size;
    queue->written = queue->last_tracked = 0;
    queue->consumed.store(0);
    for (Reservation& reservation : queue->reservations) reservation.index_plus_1.store(0);
    struct sonde_queue definition = {};
    definition.device = device->id;
    definition.handle = word(handle);
    queue->id = agent().define_queue(&definition);
    queue->handle.store(handle, std::memory_order_release);
  }
  if (queue != nullptr) queue->collecting.store(false, std::memory_order_release);
  pthread_mutex_unlock(&g_lock);
  return usable ? queue : nullptr;
}

// A queue whose packets come to us.
Status create_watched(const Device* device, uint32_t size, uint32_t type, QueueCallback callback,
                      void* data, uint32_t private_bytes, uint32_t group_bytes,
                      QueueMemory** queue) {
  QueueErrors* errors = watch_errors(callback, data, device);
  const bool watched = errors != nullptr;
  const Status status =
      next().queue_intercept_create(device->handle, size, type, watched ? on_queue_error : callback,
                                    watched ? errors : data, private_bytes, group_bytes, queue);
  if (status != kSuccess) {
    free(errors);
    rocm::report(SONDE_WARNING, kSource,
                 "a queue cannot be watched: its kernels are not in the trace");
    return status;
  }
  Queue* adopted = adopt(*queue, device, errors);
  next().profiling_set_profiler_enabled(*queue, 1);
  if (adopted != nullptr) {
    next().queue_intercept_register(*queue, handle_packets, adopted);
    start_collector();
  }
  return status;
}

Status create(AgentHandle agent_handle, uint32_t size, uint32_t type, QueueCallback callback,
              void* data, uint32_t private_bytes, uint32_t group_bytes, QueueMemory** queue) {
  Call call(kQueueCreate);
  const Device* device = device_of(agent_handle);
  Status status = kError;
  if (device != nullptr && device->is_gpu && queue != nullptr) {
    status = create_watched(device, size, type, callback, data, private_bytes, group_bytes, queue);
  }
  if (status != kSuccess) {
    status = next().queue_create(agent_handle, size, type, callback, data, private_bytes,
                                 group_bytes, queue);
  }
  const uint64_t made = status == kSuccess && queue != nullptr ? word(*queue) : 0;
  const uint64_t words[] = {agent_handle.handle, size, type, made};
  call.end(status, words, 4);
  return status;
}

Status destroy(QueueMemory* handle) {
  Call call(kQueueDestroy);
  Queue* queue = queue_of(handle);
  QueueErrors* errors = nullptr;
  if (queue != nullptr) {
    collect_everything();
    errors = queue->errors;
    queue->handle.store(nullptr);
  }
  const Status status = next().queue_destroy(handle);
  if (status == kSuccess) free(errors);
  const uint64_t words[] = {word(handle)};
  call.end(status, words, 1);
  return status;
}

// The runtime times a queue only while this is on.
Status set_profiler_enabled(QueueMemory* handle, int enable) {
  return queue_of(handle) != nullptr ? kSuccess
                                     : next().profiling_set_profiler_enabled(handle, enable);
}

void reserve(const QueueMemory* handle, uint64_t first, uint64_t count) {
  Queue* queue = queue_of(handle);
  if (queue == nullptr) return;
  if (count > kReservations) count = kReservations;
  for (uint64_t i = first; i < first + count; ++i) {
    Reservation& reservation = queue->reservations[i % kReservations];
    reservation.launch = t_launch;
    reservation.index_plus_1.store(i + 1, std::memory_order_release);
  }
}

template <auto Member>
uint64_t add_index(QueueMemory* handle, uint64_t value) {
  const uint64_t first = (next().*Member)(handle, value);
  reserve(handle, first, value);
  return first;
}

template <auto Member>
uint64_t cas_index(QueueMemory* handle, uint64_t expected, uint64_t value) {
  const uint64_t old = (next().*Member)(handle, expected, value);
  if (old == expected) reserve(handle, expected, value - expected);
  return old;
}

}  // namespace

Queue* queue_of(const QueueMemory* handle) {
  Queue* queue = t_last_queue;
  if (queue != nullptr && queue->handle.load(std::memory_order_relaxed) == handle) return queue;
  queue = g_queues.load(std::memory_order_acquire);
  while (queue != nullptr && queue->handle.load(std::memory_order_relaxed) != handle) {
    queue = queue->next;
  }
  if (queue != nullptr) t_last_queue = queue;
  return queue;
}

void destroy_signals() {
  for (Queue* queue = g_queues.load(); queue != nullptr; queue = queue->next) {
    queue->handle.store(nullptr);
    if (!claim(queue)) continue;
    if (idle(*queue)) {  // else the device may still write to them
      destroy_chain(queue->free);
      destroy_chain(queue->returned.exchange(nullptr));
      if (queue->over != nullptr) destroy_chain(queue->over);
    }
    queue->head.store(queue->tail.load());
    queue->free = queue->over = queue->last = nullptr;
    queue->returned.store(nullptr);
    queue->collecting.store(false, std::memory_order_release);
  }
}

void hook_queues(Functions* hooks) {
  using F = Functions;
  hooks->queue_create = create;
  hooks->queue_destroy = destroy;
  hooks->profiling_set_profiler_enabled = set_profiler_enabled;
  hooks->queue_add_write_index_scacq_screl = add_index<&F::queue_add_write_index_scacq_screl>;
  hooks->queue_add_write_index_scacquire = add_index<&F::queue_add_write_index_scacquire>;
  hooks->queue_add_write_index_relaxed = add_index<&F::queue_add_write_index_relaxed>;
  hooks->queue_add_write_index_screlease = add_index<&F::queue_add_write_index_screlease>;
  hooks->queue_cas_write_index_scacq_screl = cas_index<&F::queue_cas_write_index_scacq_screl>;
  hooks->queue_cas_write_index_scacquire = cas_index<&F::queue_cas_write_index_scacquire>;
  hooks->queue_cas_write_index_relaxed = cas_index<&F::queue_cas_write_index_relaxed>;
  hooks->queue_cas_write_index_screlease = cas_index<&F::queue_cas_write_index_screlease>;
}

}  // namespace sonde::hsa
