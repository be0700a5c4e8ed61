// The packets the program writes into a queue, on their way to the device.
//
// A dispatch without a completion signal gets one of ours, whose times are taken when it has
// finished. One with a signal keeps it: its times are taken from there. Packets the program did not
// write are added in two cases only: now and then after many packets that nobody waits for, to know
// how far the device has come, and for a dispatch whose signal counts several ops.
//
// All packets of one call of the handler are handed on in one call of the runtime's writer: each
// call of that is taken for the next interceptor's, and ROCm 5.2 crashes at the second.
//
// The runtime takes packets from the program at once, whether the hardware's queue has room or not,
// and loses its way when it has none (ROCm 5.2 stops with an assertion). So this waits for room, as
// the program itself would do without us: exactly while the hardware's queue is full.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/counting.h"

namespace sonde::hsa {
namespace {

constexpr int kYields = 200;  // before sleeping

uint8_t type_of(const void* packet) { return *static_cast<const uint8_t*>(packet); }

bool is_nearly_empty(const Queue& queue) {
  const uint64_t consumed = queue.consumed.load(std::memory_order_relaxed);
  return queue.written - consumed < queue.size / 64;
}

}  // namespace

// False: the queue ends before there is any.
bool wait_for_room(Queue* queue, uint64_t packets) {
  if (has_room(*queue, packets)) return true;
  for (int i = 0;; ++i) {
    collect_queue(queue);
    if (any_program_signals()) collect_program_signals();
    step_counting();
    if (has_room(*queue, packets)) return true;
    if (queue->ending.load()) return false;
    if (i < kYields) {
      sched_yield();
    } else {
      const timespec pause = {0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

namespace {

// Room for what the handler may make of so many packets; false without memory.
bool prepare_batch(Queue* queue, uint64_t count) {
  queue->batched = 0;
  const uint64_t most = (counting() ? kCountedPackets : 2) * count;
  if (most <= queue->batch_size) return true;
  void* batch = realloc(queue->batch, most * sizeof(DispatchPacket));
  if (batch == nullptr) return false;
  queue->batch = static_cast<DispatchPacket*>(batch);
  queue->batch_size = most;
  return true;
}

// A new one for the packet that is put next, or nullptr.
Dispatch* next_dispatch(Queue* queue) {
  Dispatch* dispatch = take_dispatch(queue);
  if (dispatch == nullptr) return nullptr;
  dispatch->next.store(nullptr, std::memory_order_relaxed);
  dispatch->position = queue->written;
  return dispatch;
}

void publish(Queue* queue, Dispatch* dispatch) {
  queue->last_tracked = queue->written + 1;
  queue->last->next.store(dispatch, std::memory_order_release);
  queue->last = dispatch;
  queue->tail.store(queue->tail.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  work_was_queued();
}

bool is_barrier(const DispatchPacket& packet) {
  const uint8_t type = type_of(&packet);
  return type == kBarrierAndPacket || type == kBarrierOrPacket;
}

bool takes_signal(const DispatchPacket& packet) {
  return packet.completion.handle == 0 &&
         (type_of(&packet) == kDispatchPacket || is_barrier(packet));
}

// Puts a packet that makes no op. After many whose end nobody will see it, or one behind it, tells
// how far the device has come.
void pass_on(Queue* queue, DispatchPacket packet) {
  if (packet.completion.handle != 0) settle(packet.completion);
  const bool probe = queue->written - queue->last_tracked >= queue->size / 4;
  if (!wait_for_room(queue, probe ? 2 : 1)) return;
  if (is_barrier(packet)) {
    BarrierPacket barrier;
    memcpy(&barrier, &packet, sizeof barrier);
    note_barrier(*queue, barrier);
  }
  Dispatch* dispatch = probe ? next_dispatch(queue) : nullptr;
  if (dispatch == nullptr) return put(queue, &packet);
  dispatch->silent = true;
  dispatch->wanted = {};
  if (!takes_signal(packet)) {
    put(queue, &packet);
    packet = {};
    packet.header = kBarrierAndPacket;  // its signal is where a dispatch has it
    dispatch->position = queue->written;
  }
  packet.completion = dispatch->signal;
  publish(queue, dispatch);
  put(queue, &packet);
}

const Launch& launch_of(const Queue& queue, uint64_t index) {
  const Reservation& reservation = reservation_of(queue, index);
  return reservation.index_plus_1.load(std::memory_order_acquire) == index + 1 ? reservation.launch
                                                                               : t_launch;
}

// The program's signal stays in the packet where it belongs to this op alone.
bool watch_program_signal(Queue* queue, const DispatchPacket& packet, const Launch& launch,
                          uint64_t noted) {
  ProgramSignal pending = {};
  pending.signal = packet.completion;
  if (!settle(packet.completion)) return false;
  pending.value = value_of(packet.completion);
  if (pending.value != 1) return false;
  pending.end_ts = end_of(packet.completion);
  pending.queue = queue;
  pending.position = queue->written;
  Dispatch dispatch = {};
  describe(&dispatch, packet, launch, noted);
  pending.noted = noted;
  pending.op = kernel_op(*queue, dispatch);
  return add_program_signal(pending);
}

void dispatch_packet(Queue* queue, DispatchPacket packet, const Launch& launch) {
  const Signal wanted = packet.completion;
  if (counting() && count_dispatch(queue, packet, launch)) return;
  if (!has_room(*queue, 1) && !wait_for_room(queue, 1)) return agent().dropped("kernels", 1);
  const uint64_t noted = note_dispatch(*queue, packet);
  if (wanted.handle != 0 && watch_program_signal(queue, packet, launch, noted)) {
    queue->last_tracked = queue->written + 1;
    work_was_queued();
    return put(queue, &packet);
  }
  Dispatch* dispatch = next_dispatch(queue);
  if (dispatch == nullptr) {
    agent().dropped("kernels", 1);
    return put(queue, &packet);
  }
  describe(dispatch, packet, launch, noted);
  // The signal counts several ops: one packet more tells it, or the collector, which is later but
  // takes no room from a program that waits for nothing before its queue is full.
  const bool by_packet = wanted.handle != 0 && is_nearly_empty(*queue);
  dispatch->wanted = by_packet ? Signal{} : wanted;
  packet.completion = dispatch->signal;
  publish(queue, dispatch);
  put(queue, &packet);
  if (!by_packet) return;
  BarrierPacket barrier = {};
  barrier.header = kBarrierAndPacket;
  barrier.depends_on[0] = packet.completion;
  barrier.completion = wanted;
  put(queue, &barrier);
}

}  // namespace

Dispatch* take_dispatch(Queue* queue) {
  if (queue->free == nullptr) {
    queue->free = queue->returned.exchange(nullptr, std::memory_order_acquire);
  }
  Dispatch* dispatch = queue->free;
  if (dispatch != nullptr) {
    queue->free = dispatch->next.load(std::memory_order_relaxed);
    __builtin_prefetch(queue->free);         // another thread may have written to it last
    memory_of(dispatch->signal)->value = 1;  // nobody else knows of it
    return dispatch;
  }
  dispatch = static_cast<Dispatch*>(calloc(1, sizeof(Dispatch)));
  if (dispatch == nullptr) return nullptr;
  if (next().signal_create(1, 0, nullptr, kSignalGpuOnly, &dispatch->signal) != kSuccess) {
    free(dispatch);
    return nullptr;
  }
  return dispatch;
}

void handle_packets(const void* packets, uint64_t count, uint64_t index, void* data,
                    PacketWriter write) {
  auto* queue = static_cast<Queue*>(data);
  const auto* packet = static_cast<const DispatchPacket*>(packets);
  if (queue->handle.load(std::memory_order_acquire) ==
      nullptr) {  // its end was announced too early
    agent().dropped("kernels", count);
    return write(packets, count);
  }
  if (!prepare_batch(queue, count)) {
    agent().dropped("kernels", count);
    if (!wait_for_room(queue, count)) return;
    queue->written += count;
    queue->handled.store(index + 1, std::memory_order_relaxed);
    return write(packets, count);
  }
  for (uint64_t i = 0; i < count; ++i, ++packet) {
    const Launch& launch = launch_of(*queue, index + i);
    // A launch that was recorded has its op, even where recording has ended since.
    const bool is_recorded = (launch.correlation != 0 || rocm::recording()) && !dormant();
    if (type_of(packet) == kDispatchPacket && is_recorded) {
      dispatch_packet(queue, *packet, launch);
    } else {
      pass_on(queue, *packet);
    }
  }
  // The program's packets come one at a time; what another tool made of one may be several.
  queue->handled.store(index + 1, std::memory_order_relaxed);
  if (queue->batched != 0) write(queue->batch, queue->batched);
}

}  // namespace sonde::hsa
