// The program's queues and the dispatches in them that are not finished. Used by queues.cpp (their
// life, and which call wrote which packet), dispatch.cpp (rewrites packets) and collect.cpp (takes
// the times of what has finished).
//
// The runtime calls the packet handler of a queue from one thread at a time. It appends to the list
// of dispatches; whoever has set `collecting` takes from its front. Neither waits for the other.
#pragma once

#include <string.h>

#include <atomic>

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {

// A dispatch, and the signal of ours that tells its end. Used again and again, the latest first:
// what a launch writes to is in the cache then.
struct Dispatch {
  std::atomic<Dispatch*> next;  // behind it in the queue, or in a list of free ones
  Signal signal;
  Signal wanted;      // the program's, which is still to be told of the end
  uint64_t position;  // of its packet among those written to the hardware's queue
  Launch launch;
  uint64_t noted;  // its number on the board
  uint32_t name;
  uint32_t grid[3];
  uint16_t group[3];
  bool silent;  // no op: only tells how far the device has come
  uint32_t private_segment_bytes;
  uint32_t group_segment_bytes;
};

// The launch that reserved the packet `index`.
struct Reservation {
  std::atomic<uint64_t> index_plus_1;
  Launch launch;
};
// Of Queue::ringing, which is a futex.
enum Ringing : uint32_t { kNotRinging, kRinging };

constexpr uint64_t kSpare = 2;  // packets of a queue that the runtime wants for itself

struct QueueErrors;  // faults.cpp

struct Queue {
  std::atomic<QueueMemory*> handle;  // nullptr: free to be used for a new one
  const Device* device;
  Signal doorbell;
  QueueErrors* errors;
  uint32_t id;     // of define_queue()
  uint32_t size;   // packets
  uint32_t place;  // on the board
  // Written by the packet handler.
  std::atomic<uint64_t> written;  // packets in the hardware's queue, ever
  uint64_t last_tracked;          // position behind the last packet whose end will be seen
  Dispatch* free;
  Dispatch* last;         // of the list of dispatches
  DispatchPacket* batch;  // what one call of the handler hands on
  uint64_t batch_size, batched;
  // Shared.
  std::atomic<uint64_t> consumed;  // at least so many were taken by the device
  std::atomic<Dispatch*> returned;
  std::atomic<uint64_t> tail, head;  // dispatches that were queued, and that were seen to be over
  std::atomic<bool> collecting;
  std::atomic<bool> dead;  // of a runtime that ended while it was held: nothing of it is touched
  // Of the collector's: before the front of the list. It is over, but a packet behind it may still
  // wait for its signal until the next one is over as well.
  Dispatch* over;
  Reservation* reservations;   // as many as the queue has packets
  uint64_t reservation_count;  // a power of two
  // Of doorbells.cpp.
  std::atomic<uint64_t> handled;  // packets that the program's queue was relieved of
  std::atomic<uint64_t> rung;  // the highest value of the doorbell that the thread stores, plus 1
  std::atomic<uint32_t> ringing;  // the thread does it
  std::atomic<bool> has_ringer;
  std::atomic<bool> ending;  // nobody waits for room any more
  Queue* next;
};

// Without a division, of which each launch would make two.
inline Reservation& reservation_of(const Queue& queue, uint64_t index) {
  return queue.reservations[index & (queue.reservation_count - 1)];
}

inline bool idle(const Queue& queue) {
  if (queue.dead.load(std::memory_order_relaxed)) return true;
  return queue.head.load(std::memory_order_relaxed) == queue.tail.load(std::memory_order_acquire);
}

inline bool has_room(const Queue& queue, uint64_t packets) {
  return queue.written.load(std::memory_order_relaxed) + packets + kSpare <=
         queue.consumed.load(std::memory_order_relaxed) + queue.size;
}

// All queues there ever were; never freed.
extern std::atomic<Queue*> g_queues;
Queue* queue_of(const QueueMemory* handle);
Queue* queue_of_doorbell(Signal doorbell, QueueMemory** handle);
// The runtime ends, and complains of signals that are left. Returns how many ops had not finished.
uint64_t retire_queues();

// dispatch.cpp. For whoever makes packets while the handler runs: waits for room (false: the queue
// ends before there is any), hands a packet on, says what a dispatch is.
bool wait_for_room(Queue* queue, uint64_t packets);
// Here, because a launch is made of them.
inline void put(Queue* queue, const void* packet) {
  memcpy(queue->batch + queue->batched++, packet, sizeof(DispatchPacket));
  queue->written.store(queue->written.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

// `noted`: its number on the board.
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

Dispatch* take_dispatch(Queue* queue);  // a free one, with its signal at 1; nullptr: none to be had
void handle_packets(const void* packets, uint64_t count, uint64_t index, void* queue,
                    PacketWriter write);

// doorbells.cpp. Nobody is in the runtime for the queue any more, on our account.
void stop_ringing(Queue* queue);
bool any_ringer();  // a thread that rings, or has not left yet

// collect.cpp
void collect_queue(Queue* queue);
void collect_claimed(Queue* queue);  // likewise, by whoever has set `collecting`
void give_back(Queue* queue, Dispatch* first, Dispatch* last);  // a list
void collect_everything();
void work_was_queued();  // the collector looks again
void start_collector();
void end_collector();  // when all is over that a device does for us; returns soon in any case
// When the collector last looked, some 2 ms ago: a launch has no time to ask a clock. Exact while
// the collector sleeps.
int64_t tick_ns();
void advance(Queue* queue, uint64_t consumed);
struct sonde_op kernel_op(const Queue& queue, const Dispatch& dispatch);

// faults.cpp. What on_queue_error() needs to call the program's own callback with; freed when the
// queue is no more. nullptr without memory.
QueueErrors* watch_errors(QueueCallback callback, void* data, const Device* device);
void on_queue_error(Status status, QueueMemory* queue, void* data);
Status on_system_event(const SystemEvent* event, void*);

// ---- pending.cpp: ops that complete on a signal of the program's ----
//
// Their times stand in the signal until it is used again, so they are taken before that.
struct ProgramSignal {
  ProgramSignal* next;
  Signal signal;
  int64_t value;    // before the op
  uint64_t end_ts;  // likewise
  bool end_seen;
  Queue* queue;       // of a dispatch, else nullptr
  uint64_t position;  // likewise
  uint64_t noted;     // likewise: its number on the board
  struct sonde_op op;
};

// Before a signal is given to another op, or dies: takes the times of the op before. False if that
// has not finished, and so its times would be lost.
bool settle(Signal signal);
void forget(Signal signal);         // the signal dies
bool forget_failed(Signal signal);  // false: none was known. For when the op was refused
// The queue is no more (nullptr: the runtime): records what has finished, returns how many had not.
uint64_t lose_program_signals(const Queue* queue);
// Remembers an op; false without memory.
bool add_program_signal(const ProgramSignal& pending);
void collect_program_signals();
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
