// The program's queues and their unfinished dispatches. Used by queues.cpp (the lifetime of queues,
// and which call wrote which packet), dispatch.cpp (rewrites packets) and collect.cpp (reads the
// times of finished dispatches).
//
// The runtime calls the packet handler of a queue from one thread at a time. The handler appends to
// the list of dispatches; the thread that has set `collecting` removes from its front. Neither
// waits for the other.
#pragma once

#include <string.h>

#include <atomic>

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {

// A dispatch, and the signal of ours on which it completes. Recycled, the most recent one first, so
// that the memory that a launch writes to is in the cache.
struct Dispatch {
  std::atomic<Dispatch*> next;  // the next one in the queue, or in a free list
  Signal signal;
  Signal wanted;      // the program's signal, which is still to be decremented
  uint64_t position;  // position of its packet in the hardware queue
  Launch launch;
  uint64_t noted;  // its number on the board
  uint32_t name;
  uint32_t grid[3];
  uint16_t group[3];
  bool silent;  // not an op: only shows how far the device has come
  uint32_t private_segment_bytes;
  uint32_t group_segment_bytes;
};

// The launch for which packet `index` was reserved.
struct Reservation {
  std::atomic<uint64_t> index_plus_1;
  Launch launch;
};
// Values of Queue::ringing, which is a futex.
enum Ringing : uint32_t { kNotRinging, kRinging };

constexpr uint64_t kSpare = 2;  // packets of a queue that the runtime reserves

struct QueueErrors;  // faults.cpp

struct Queue {
  std::atomic<QueueMemory*> handle;  // nullptr: free for reuse
  const Device* device;
  Signal doorbell;
  QueueErrors* errors;
  uint32_t id;     // of define_queue()
  uint32_t size;   // in packets
  uint32_t place;  // index on the board
  // Written by the packet handler.
  std::atomic<uint64_t> written;  // packets written to the hardware queue, ever
  uint64_t last_tracked;          // position after the last packet whose completion is tracked
  Dispatch* free;
  Dispatch* last;         // end of the list of dispatches
  DispatchPacket* batch;  // what one call of the handler passes on
  uint64_t batch_size, batched;
  // Shared.
  std::atomic<uint64_t> consumed;  // at least this many packets were consumed by the device
  std::atomic<Dispatch*> returned;
  std::atomic<uint64_t> tail, head;  // counts of dispatches appended, and seen to be finished
  std::atomic<bool> collecting;
  std::atomic<bool> dead;  // the runtime ended while it was in use: it must not be touched
  // Owned by the collector: the entry before the front of the list. It has finished, but a packet
  // behind it may still wait for its signal until the next one has finished as well.
  Dispatch* over;
  Reservation* reservations;   // at least one per packet of the queue
  uint64_t reservation_count;  // a power of two
  // Used by doorbells.cpp.
  // The end of the packets that were reserved last, as a hint: several threads may have overwritten
  // what each other stored.
  std::atomic<uint64_t> reserved;
  std::atomic<uint64_t> handled;  // packets taken from the program's queue
  std::atomic<uint64_t> rung;     // the highest doorbell value for the thread to store, plus 1
  std::atomic<uint32_t> ringing;  // the thread is doing so
  std::atomic<bool> has_ringer;
  std::atomic<bool> ending;  // no thread has to wait for room any more
  Queue* next;
};

// A mask instead of a division: each launch does this twice.
inline Reservation& reservation_of(const Queue& queue, uint64_t index) {
  return queue.reservations[index & (queue.reservation_count - 1)];
}

inline bool is_reserved(const Queue& queue, uint64_t index) {
  return reservation_of(queue, index).index_plus_1.load(std::memory_order_acquire) == index + 1;
}

inline bool idle(const Queue& queue) {
  if (queue.dead.load(std::memory_order_relaxed)) return true;
  return queue.head.load(std::memory_order_relaxed) == queue.tail.load(std::memory_order_acquire);
}

inline bool has_room(const Queue& queue, uint64_t packets) {
  return queue.written.load(std::memory_order_relaxed) + packets + kSpare <=
         queue.consumed.load(std::memory_order_relaxed) + queue.size;
}

// All queues ever created; never freed.
extern std::atomic<Queue*> g_queues;
Queue* queue_of(const QueueMemory* handle);
Queue* queue_of_doorbell(Signal doorbell, QueueMemory** handle);
// Called when the runtime ends, which complains about signals that are left. Returns how many ops
// had not finished.
uint64_t retire_queues();
// The program ends: waits briefly for other threads that are about to record ops, and would be
// ended in between. Returns how many ops are still with them.
uint64_t settle_recording();

// dispatch.cpp. For code that writes packets within the handler: wait_for_room() (false: the queue
// is destroyed first), put() to pass on a packet, describe() to describe a dispatch.
bool wait_for_room(Queue* queue, uint64_t packets);
// Inline, because every launch uses these.
inline void put(Queue* queue, const void* packet) {
  memcpy(queue->batch + queue->batched++, packet, sizeof(DispatchPacket));
  queue->written.store(queue->written.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

// `noted`: the dispatch's number on the board.
inline void describe(Dispatch* dispatch, const DispatchPacket& packet, const Launch& launch,
                     uint64_t noted) {
  const int dimensions = packet.setup & 3;
  dispatch->noted = noted;
  dispatch->launch = launch;
  dispatch->name = kernel_name(packet.kernel_object);
  for (int i = 0; i < 3; ++i) {
    dispatch->grid[i] = i < dimensions ? packet.grid[i] : 0;
    dispatch->group[i] = i < dimensions ? packet.group[i] : uint16_t{0};
  }
  dispatch->silent = false;
  dispatch->private_segment_bytes = packet.private_segment_bytes;
  dispatch->group_segment_bytes = packet.group_segment_bytes;
}

Dispatch* take_dispatch(Queue* queue);  // with its signal at 1; nullptr: none available
void handle_packets(const void* packets, uint64_t count, uint64_t index, void* queue,
                    PacketWriter write);

// doorbells.cpp. Returns when no thread of ours is in the runtime for this queue.
void stop_ringing(Queue* queue);
bool any_ringer();  // whether a doorbell thread exists

// collect.cpp
void collect_queue(Queue* queue);
void collect_claimed(Queue* queue);  // the same, for a caller that has set `collecting`
void give_back(Queue* queue, Dispatch* first, Dispatch* last);  // a chain
void collect_everything();
void work_was_queued();  // wakes the collector
void start_collector();
void end_collector();  // once the devices have finished all that we track; does not wait long
// The time of the collector's last poll, some 2 ms ago, because a launch cannot afford to read a
// clock. Exact while the collector sleeps.
int64_t tick_ns();
void advance(Queue* queue, uint64_t consumed);
struct sonde_op kernel_op(const Queue& queue, const Dispatch& dispatch);

// faults.cpp. What on_queue_error() needs for calling the program's own callback; freed with the
// queue. nullptr without memory.
QueueErrors* watch_errors(QueueCallback callback, void* data, const Device* device);
void on_queue_error(Status status, QueueMemory* queue, void* data);
Status on_system_event(const SystemEvent* event, void*);

// ---- program_signals.cpp: ops that complete on a signal of the program ----
//
// Their times are in the signal until it is reused, so they are read before that.
struct ProgramSignal {
  ProgramSignal* next;
  Signal signal;
  int64_t value;    // before the op
  uint64_t end_ts;  // likewise
  bool end_seen;
  Queue* queue;       // for a dispatch, else nullptr
  uint64_t position;  // likewise
  uint64_t noted;     // likewise: its number on the board
  struct sonde_op op;
};

// Called before a signal is reused for another op, or destroyed: reads the times of the previous
// op. False if that has not finished; its times would be lost.
bool settle(Signal signal);
void forget(Signal signal);         // the signal is destroyed
bool forget_failed(Signal signal);  // the op was rejected; false: none was known
// The queue was destroyed (nullptr: the runtime ends): records what has finished, returns how many
// had not.
uint64_t lose_program_signals(const Queue* queue);
// Adds an op; false without memory.
bool add_program_signal(const ProgramSignal& pending);
void collect_program_signals();
uint64_t program_signals_being_recorded();  // by any thread, at this moment
bool any_program_signals();

inline SignalMemory* memory_of(Signal signal) {
  return reinterpret_cast<SignalMemory*>(signal.handle);
}
inline int64_t value_of(Signal signal) {
  return __atomic_load_n(&memory_of(signal)->value, __ATOMIC_ACQUIRE);
}
inline uint64_t end_of(Signal signal) {
  return __atomic_load_n(&memory_of(signal)->end_ts, __ATOMIC_ACQUIRE);
}

}  // namespace sonde::hsa
