// The packets that the program writes into a queue, on their way to the device.
//
// A dispatch without a completion signal gets one of ours, whose times are read when it has
// finished. A dispatch with a signal keeps it, and its times are read from there. Packets of our
// own are added in two cases only: now and then after many packets whose completion is not tracked,
// to learn how far the device has come, and for a dispatch whose signal counts several ops.
//
// All packets of one call of the handler are passed on in one call of the runtime's writer: each
// call of the writer counts as the next interceptor's, and ROCm 5.2 crashes at the second.
//
// The runtime takes packets from the program at once, whether the hardware queue has room or not,
// and fails if it has none (ROCm 5.2 aborts with an assertion). So this code waits for room, as the
// program itself would without us: exactly while the hardware queue is full.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/counting.h"
#include "base/uncancelled.h"

namespace sonde::hsa {
namespace {

constexpr int kYields = 200;  // before sleeping

uint8_t type_of(const void* packet) { return *static_cast<const uint8_t*>(packet); }

bool is_nearly_empty(const Queue& queue) {
  const uint64_t consumed = queue.consumed.load(std::memory_order_relaxed);
  return queue.written - consumed < queue.size / 64;
}

}  // namespace

// False: the queue was destroyed before there was room.
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
      sleep_uncancelled(pause);
    }
  }
}

namespace {

// Makes room for what the handler may write for so many packets; false without memory.
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

// A Dispatch for the packet that is written next, or nullptr.
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

// Passes on a packet that is not an op. After many packets whose completion is not tracked, also
// tracks this one, or a later barrier, to learn how far the device has come.
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
    // Its completion signal is at the same place as a dispatch's.
    packet.header = kBarrierAndPacket;
    dispatch->position = queue->written;
  }
  packet.completion = dispatch->signal;
  publish(queue, dispatch);
  put(queue, &packet);
}

const Launch& launch_of(const Queue& queue, uint64_t index) {
  return is_reserved(queue, index) ? reservation_of(queue, index).launch : t_launch;
}

// Keeps the program's signal in the packet if it counts this op alone.
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
  // The signal counts several ops, so it is decremented by an additional packet, or by the
  // collector, which is later but takes no queue space from a program that fills its queue before
  // it waits.
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
    __builtin_prefetch(queue->free);         // another thread may have written it last
    memory_of(dispatch->signal)->value = 1;  // no other thread knows it yet
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
      nullptr) {  // the queue's end was announced too early
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
    // The op of a recorded launch is recorded even if recording has ended since.
    const bool is_recorded = (launch.correlation != 0 || rocm::recording()) && !dormant();
    if (type_of(packet) == kDispatchPacket && is_recorded) {
      dispatch_packet(queue, *packet, launch);
    } else {
      pass_on(queue, *packet);
    }
  }
  // The program's packets come one at a time; another tool may have turned one into several.
  queue->handled.store(index + 1, std::memory_order_relaxed);
  if (queue->batched != 0) write(queue->batch, queue->batched);
}

}  // namespace sonde::hsa
