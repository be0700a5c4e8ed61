// Doorbells of queues without room. The runtime passes a program's packets to us within the
// program's store to the doorbell, and an intercepted queue holds two packets fewer than the
// program may write. A program that fills its queue behind a barrier and then releases the barrier
// would deadlock if that store waited for room. So if there may be no room, a thread per queue
// makes the store, and waits in the program's place; meanwhile the packets stay in the program's
// queue, as they would stay in the hardware's.
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/rocm/hsa/queues.h"
#include "base/errno_keeper.h"
#include "base/helper_thread.h"
#include "base/uncancelled.h"

namespace sonde::hsa {
namespace {

constexpr int kWaitsForRinger = 200;

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value,
           const timespec* most = nullptr) {
  static_assert(sizeof word == sizeof(uint32_t));
  syscall(SYS_futex, &word, operation, value, most, nullptr, 0);
}

// In a process that was attached to: the next store to the doorbell starts another thread.
bool may_leave(Queue* queue) {
  if (!dormant()) return false;
  queue->has_ringer.store(false);
  return queue->ringing.load() == kNotRinging || queue->has_ringer.exchange(true);
}

// Rings until there are no new stores, then sleeps.
void* run_ringer(void* data) {
  constexpr timespec kLook = {0, 20'000'000};
  prctl(PR_SET_NAME, "sonde-doorbell");
  auto* queue = static_cast<Queue*>(data);
  for (;;) {
    while (queue->ringing.load() == kNotRinging) {
      if (may_leave(queue)) return nullptr;
      futex(queue->ringing, FUTEX_WAIT_PRIVATE, kNotRinging, rocm::g_attached ? &kLook : nullptr);
    }
    uint64_t rung = queue->rung.load();
    QueueMemory* handle = queue->handle.load();
    if (handle != nullptr && rung != 0) {
      next().signal_store_screlease(handle->doorbell, static_cast<int64_t>(rung - 1));
    }
    if (queue->rung.load() != rung) continue;
    queue->ringing.store(kNotRinging);
    // A thread that raised `rung` before this relies on us.
    uint32_t none = kNotRinging;
    if (queue->rung.load() != rung) queue->ringing.compare_exchange_strong(none, kRinging);
  }
  return nullptr;
}

bool start_ringer(Queue* queue) {
  if (queue->has_ringer.exchange(true)) return true;
  const bool made = start_helper_thread(run_ringer, queue, 128 * 1024);
  if (!made) queue->has_ringer.store(false);
  return made;
}

void raise(Queue* queue, uint64_t rung) {
  uint64_t known = queue->rung.load();
  while (known < rung && !queue->rung.compare_exchange_weak(known, rung)) {
  }
}

bool has_room_for_all(const Queue& queue, const QueueMemory* handle) {
  const uint64_t written = next().queue_load_write_index_relaxed(handle);
  const uint64_t handled = queue.handled.load(std::memory_order_relaxed);
  // A packet may become two.
  return written <= handled || has_room(queue, 2 * (written - handled));
}

// The same without asking the runtime, which each launch would do: nothing is reserved beyond what
// is rung, as far as is known, so that the runtime finds no more than that.
bool has_ample_room(const Queue& queue, uint64_t rung) {
  constexpr uint64_t kOfOthers = 64;  // packets that other threads are just reserving
  const uint64_t reserved = queue.reserved.load(std::memory_order_relaxed);
  const uint64_t handled = queue.handled.load(std::memory_order_relaxed);
  if (reserved != rung || reserved <= handled || is_reserved(queue, rung)) return false;
  return has_room(queue, 2 * (reserved - handled + kOfOthers));
}

// Whether the thread rings in our place: because it is already ringing, or there may be no room.
[[gnu::noinline, gnu::cold]] bool defer(Queue* queue, QueueMemory* handle, uint64_t rung) {
  if (queue->ringing.load() == kRinging) {
    raise(queue, rung);
    if (queue->ringing.load() == kRinging) return true;
    if (has_room_for_all(*queue, handle)) return false;
  }
  const ErrnoKeeper keep;
  collect_queue(queue);
  if (any_program_signals()) collect_program_signals();
  if (has_room_for_all(*queue, handle) || !start_ringer(queue)) return false;
  raise(queue, rung);
  queue->ringing.store(kRinging);
  if (!start_ringer(queue)) {  // the thread has ended meanwhile, and no other can be started
    queue->ringing.store(kNotRinging);
    next().signal_store_screlease(handle->doorbell, static_cast<int64_t>(queue->rung.load() - 1));
    return true;
  }
  futex(queue->ringing, FUTEX_WAKE_PRIVATE, 1);
  return true;
}

template <auto Member>
void store(Signal signal, int64_t value) {
  QueueMemory* handle = nullptr;
  Queue* queue = queue_of_doorbell(signal, &handle);
  const uint64_t rung = static_cast<uint64_t>(value) + 1;
  const bool is_plain =
      queue == nullptr || (queue->ringing.load() == kNotRinging &&
                           (has_ample_room(*queue, rung) || has_room_for_all(*queue, handle)));
  if (is_plain || !defer(queue, handle, rung)) [[likely]] {
    (next().*Member)(signal, value);
  }
}

}  // namespace

bool any_ringer() {
  for (Queue* queue = g_queues.load(std::memory_order_acquire); queue != nullptr;
       queue = queue->next) {
    if (queue->has_ringer.load()) return true;
  }
  return false;
}

void stop_ringing(Queue* queue) {
  queue->ending.store(true);
  const timespec pause = {0, 1'000'000};
  for (int i = 0; i < kWaitsForRinger && queue->ringing.load() == kRinging; ++i) {
    sleep_uncancelled(pause);
  }
}

void hook_doorbells(Functions* hooks) {
  hooks->signal_store_relaxed = store<&Functions::signal_store_relaxed>;
  hooks->signal_store_screlease = store<&Functions::signal_store_screlease>;
}

}  // namespace sonde::hsa
