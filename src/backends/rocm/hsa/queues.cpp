#include "backends/rocm/hsa/queues.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/calls.h"
#include "backends/rocm/hsa/counting.h"
#include "base/uncancelled.h"

namespace sonde::hsa {

std::atomic<Queue*> g_queues;

namespace {

constexpr int kTries = 200;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
thread_local Queue* t_last_queue;

// A queue that was destroyed, or a new one; marked as `collecting`. The caller holds the lock.
Queue* free_queue() {
  for (Queue* queue = g_queues.load(); queue != nullptr; queue = queue->next) {
    if (queue->handle.load() != nullptr || queue->dead.load()) continue;
    if (!queue->collecting.exchange(true)) return queue;
  }
  auto* queue = static_cast<Queue*>(calloc(1, sizeof(Queue)));
  if (queue == nullptr) return nullptr;
  queue->collecting.store(true);
  queue->next = g_queues.load();
  g_queues.store(queue, std::memory_order_release);
  return queue;
}

// Removes everything from the list but its last entry, which becomes `over`. Returns the number of
// unfinished ops among them.
uint64_t empty_list(Queue* queue) {
  uint64_t unfinished = 0;
  while (queue->over != queue->last) {
    Dispatch* behind = queue->over->next.load();
    give_back(queue, queue->over, queue->over);
    queue->over = behind;
    unfinished += behind->silent ? 0 : 1;
  }
  if (queue->over != nullptr) queue->over->next.store(nullptr);
  queue->head.store(queue->tail.load());
  return unfinished;
}

// For a queue that the hardware has released: its signals are no longer written to.
void retire(Queue* queue) {
  collect_claimed(queue);
  const uint64_t unfinished = empty_list(queue) + lose_program_signals(queue) + lose_counted(queue);
  if (unfinished != 0) agent().dropped("ops unfinished when their queue was destroyed", unfinished);
}

// Tries for a while; false: it was in vain.
template <typename Attempt>
bool persist(Attempt attempt) {
  constexpr timespec kPause = {0, 1'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (attempt()) return true;
    sleep_uncancelled(kPause);
  }
  return false;
}

// For a thread that must have the queue. False: the collector does not release it.
bool claim(Queue* queue) {
  return persist([&] { return !queue->collecting.exchange(true, std::memory_order_acquire); });
}

void destroy_chain(Dispatch* dispatch) {
  while (dispatch != nullptr) {
    Dispatch* behind = dispatch->next.load(std::memory_order_relaxed);
    next().signal_destroy(dispatch->signal);
    free(dispatch);
    dispatch = behind;
  }
}

bool has_reservations(Queue* queue, uint32_t packets) {
  if (queue->reservation_count < packets) {
    uint64_t count = 1;
    while (count < packets) count *= 2;
    free(queue->reservations);
    queue->reservations = static_cast<Reservation*>(calloc(count, sizeof(Reservation)));
    queue->reservation_count = queue->reservations != nullptr ? count : 0;
  }
  for (uint64_t i = 0; i < queue->reservation_count; ++i) {
    queue->reservations[i].index_plus_1.store(0, std::memory_order_relaxed);
  }
  return queue->reservation_count != 0;
}

Queue* adopt(QueueMemory* handle, const Device* device, QueueErrors* errors) {
  pthread_mutex_lock(&g_lock);
  Queue* queue = free_queue();
  if (queue != nullptr) retire(queue);  // if the collector held it when it was destroyed
  if (queue != nullptr && queue->over == nullptr) queue->over = queue->last = take_dispatch(queue);
  const bool usable =
      queue != nullptr && queue->over != nullptr && has_reservations(queue, handle->size);
  if (usable) {
    queue->over->next.store(nullptr);
    queue->device = device;
    queue->errors = errors;
    queue->size = handle->size;
    queue->doorbell = handle->doorbell;
    queue->written = queue->last_tracked = 0;
    queue->reserved.store(0);
    queue->handled.store(0);
    queue->rung.store(0);
    queue->ending.store(false);
    queue->consumed.store(0);
    struct sonde_queue definition = {};
    definition.device = device->id;
    definition.handle = word(handle);
    queue->id = agent().define_queue(&definition);
    note_queue(queue, handle);
    queue->handle.store(handle, std::memory_order_release);
  }
  if (queue != nullptr) queue->collecting.store(false, std::memory_order_release);
  pthread_mutex_unlock(&g_lock);
  return usable ? queue : nullptr;
}

// Creates a queue whose packets are intercepted.
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
                 "a queue cannot be intercepted: its kernels are not in the trace");
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
  if (device != nullptr && device->is_gpu && queue != nullptr && !dormant()) {
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

// Created by another tool, whose handler was registered later and is called before ours.
Status create_intercepted(AgentHandle agent_handle, uint32_t size, uint32_t type,
                          QueueCallback callback, void* data, uint32_t private_bytes,
                          uint32_t group_bytes, QueueMemory** queue) {
  const Device* device = device_of(agent_handle);
  if (device == nullptr || !device->is_gpu || queue == nullptr || dormant()) {
    return next().queue_intercept_create(agent_handle, size, type, callback, data, private_bytes,
                                         group_bytes, queue);
  }
  return create_watched(device, size, type, callback, data, private_bytes, group_bytes, queue);
}

Status destroy(QueueMemory* handle) {
  Call call(kQueueDestroy);
  Queue* queue = queue_of(handle);
  QueueErrors* errors = nullptr;
  bool claimed = false;
  if (queue != nullptr) {
    collect_everything();
    settle_counted(queue);
    errors = queue->errors;
    stop_ringing(queue);
    claimed = claim(queue);
    // Not after the call: another queue may have this address then.
    queue->handle.store(nullptr);
  }
  const Status status = next().queue_destroy(handle);
  if (queue != nullptr && status != kSuccess) {
    queue->handle.store(handle);
    queue->ending.store(false);
  } else {
    free(errors);
    if (queue != nullptr) note_queue_end(*queue);
    if (claimed) retire(queue);
  }
  if (claimed) queue->collecting.store(false, std::memory_order_release);
  const uint64_t words[] = {word(handle)};
  call.end(status, words, 1);
  return status;
}

// The runtime times a queue's packets only while profiling is enabled, so it stays enabled.
Status set_profiler_enabled(QueueMemory* handle, int enable) {
  return queue_of(handle) != nullptr ? kSuccess
                                     : next().profiling_set_profiler_enabled(handle, enable);
}

void reserve(const QueueMemory* handle, uint64_t first, uint64_t count) {
  Queue* queue = queue_of(handle);
  if (queue == nullptr) return;
  if (count > queue->reservation_count) count = queue->reservation_count;
  for (uint64_t i = first; i < first + count; ++i) {
    Reservation& reservation = reservation_of(*queue, i);
    reservation.launch = t_launch;
    reservation.index_plus_1.store(i + 1, std::memory_order_release);
  }
  queue->reserved.store(first + count, std::memory_order_relaxed);
}

template <auto Member>
uint64_t add_index(QueueMemory* handle, uint64_t value) {
  const uint64_t first = (next().*Member)(handle, value);
  reserve(handle, first, value);
  return first;
}

// For a queue with a single producer.
template <auto Member>
void store_index(QueueMemory* handle, uint64_t value) {
  const uint64_t first = next().queue_load_write_index_relaxed(handle);
  if (value > first) reserve(handle, first, value - first);
  (next().*Member)(handle, value);
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

Queue* queue_of_doorbell(Signal doorbell, QueueMemory** handle) {
  const auto is_it = [&](const Queue* queue) {
    if (queue->doorbell.handle != doorbell.handle) return false;
    *handle = queue->handle.load(std::memory_order_acquire);
    return *handle != nullptr;
  };
  Queue* queue = t_last_queue;
  if (queue != nullptr && is_it(queue)) return queue;
  queue = g_queues.load(std::memory_order_acquire);
  while (queue != nullptr && !is_it(queue)) queue = queue->next;
  if (queue != nullptr) t_last_queue = queue;
  return queue;
}

uint64_t retire_queues() {
  uint64_t unfinished = 0;
  for (Queue* queue = g_queues.load(); queue != nullptr; queue = queue->next) {
    if (queue->handle.load() != nullptr) stop_ringing(queue);
    queue->handle.store(nullptr);
    if (queue->dead.load()) continue;
    if (!claim(queue)) {
      queue->dead.store(true);
      continue;
    }
    settle_counted(queue);
    collect_claimed(queue);
    const bool all_over = idle(*queue);  // otherwise the device may still write to the signals
    unfinished += empty_list(queue) + lose_counted(queue);
    if (all_over) {
      destroy_chain(queue->free);
      destroy_chain(queue->returned.exchange(nullptr));
      if (queue->over != nullptr) destroy_chain(queue->over);
    }
    queue->free = queue->over = queue->last = nullptr;
    queue->returned.store(nullptr);
    queue->collecting.store(false, std::memory_order_release);
  }
  end_counting();
  return unfinished;
}

uint64_t settle_recording() {
  uint64_t left = 0;
  for (Queue* queue = g_queues.load(); queue != nullptr; queue = queue->next) {
    if (!queue->collecting.load()) continue;
    if (claim(queue)) {
      collect_claimed(queue);
      queue->collecting.store(false, std::memory_order_release);
    } else {
      left += queue->tail.load() - queue->head.load();
    }
  }
  if (!persist([] { return program_signals_being_recorded() == 0; })) {
    left += program_signals_being_recorded();
  }
  return left;
}

void hook_queues(Functions* hooks) {
  using F = Functions;
  hooks->queue_create = create;
  hooks->queue_destroy = destroy;
  hooks->queue_intercept_create = create_intercepted;
  hooks->profiling_set_profiler_enabled = set_profiler_enabled;
  hooks->queue_add_write_index_scacq_screl = add_index<&F::queue_add_write_index_scacq_screl>;
  hooks->queue_add_write_index_scacquire = add_index<&F::queue_add_write_index_scacquire>;
  hooks->queue_add_write_index_relaxed = add_index<&F::queue_add_write_index_relaxed>;
  hooks->queue_add_write_index_screlease = add_index<&F::queue_add_write_index_screlease>;
  hooks->queue_store_write_index_relaxed = store_index<&F::queue_store_write_index_relaxed>;
  hooks->queue_store_write_index_screlease = store_index<&F::queue_store_write_index_screlease>;
  hooks->queue_cas_write_index_scacq_screl = cas_index<&F::queue_cas_write_index_scacq_screl>;
  hooks->queue_cas_write_index_scacquire = cas_index<&F::queue_cas_write_index_scacquire>;
  hooks->queue_cas_write_index_relaxed = cas_index<&F::queue_cas_write_index_relaxed>;
  hooks->queue_cas_write_index_screlease = cas_index<&F::queue_cas_write_index_screlease>;
}

}  // namespace sonde::hsa
