// Asynchronous copies. A copy keeps the program's completion signal, from which its times are
// taken; a copy whose signal counts several ops, or that has no signal, gets one of ours.
#include <stdlib.h>

#include <atomic>

#include "backends/rocm/hsa/calls.h"
#include "backends/rocm/hsa/replay.h"

namespace sonde::hsa {
namespace {

struct sonde_op copy_op(AgentHandle dst_agent, AgentHandle src_agent, const void* dst,
                        const void* src, uint64_t bytes) {
  const Device* to = device_of(dst_agent);
  const Device* from = device_of(src_agent);
  const bool to_gpu = to != nullptr && to->is_gpu;
  const bool from_gpu = from != nullptr && from->is_gpu;
  struct sonde_op op = {};
  op.clock = g_clock;
  op.correlation = t_launch.correlation;
  op.stream = t_launch.stream;
  op.flags = t_launch.flags | SONDE_OP_HAS_DEVICES;
  op.bytes = bytes;
  op.dst = word(dst);
  op.src = word(src);
  op.dst_device = to_gpu ? to->gpu_id : int16_t{-1};
  op.src_device = from_gpu ? from->gpu_id : int16_t{-1};
  if (from_gpu && to_gpu) {
    op.kind = SONDE_OP_COPY_D2D;
    op.queue = from->copy_queue[kBetween];  // ROCr uses the source's engine
  } else if (to_gpu) {
    op.kind = SONDE_OP_COPY_H2D;
    op.queue = to->copy_queue[kToDevice];
  } else if (from_gpu) {
    op.kind = SONDE_OP_COPY_D2H;
    op.queue = from->copy_queue[kFromDevice];
  } else {
    op.kind = SONDE_OP_COPY_H2H;
  }
  return op;
}

std::atomic<uint64_t> g_substitutes;

// A copy's turn to change memory, where kernels are replayed.
struct Turn {
  bool is_taken, is_loose;
  bool any() const { return is_taken || is_loose; }
  void end() const {
    if (is_taken) MemoryTurn::end();
    if (is_loose) end_loose_copy();
  }
};

// Waits until the copy's dependencies have completed.
Turn take_turn(uint32_t* dependencies, const Signal** depends_on) {
  if (!replays()) return {};
  if (!begin_copy(*dependencies, *depends_on)) return {false, true};
  *dependencies = 0;
  *depends_on = nullptr;
  return {true, false};
}

// A signal of ours for one copy on a signal that counts several ops, or for a copy without a
// signal. The program's signal is decremented when the copy has finished.
struct Substitute {
  Signal own, wanted;
  struct sonde_op op;
  Turn turn;
  bool refused;  // the runtime rejected the copy
};

bool substitute_finished(int64_t, void* data) {
  auto* substitute = static_cast<Substitute*>(data);
  if (!substitute->refused) {
    Times times = {};
    next().profiling_get_async_copy_time(substitute->own, &times);
    substitute->op.start = times.start;
    substitute->op.end = times.end;
    agent().op(&substitute->op);
    if (substitute->wanted.handle != 0) {
      next().signal_subtract_screlease(substitute->wanted, 1);
    }
  }
  substitute->turn.end();
  next().signal_destroy(substitute->own);
  free(substitute);
  g_substitutes.fetch_sub(1);
  return false;  // runs once
}

constexpr uint32_t kLess = 2;  // HSA_SIGNAL_CONDITION_LT

// For a copy that is to complete on its own signal; nullptr: the copy cannot be watched.
Substitute* substitute(Signal wanted, const struct sonde_op& op, Turn turn) {
  auto* made = static_cast<Substitute*>(calloc(1, sizeof(Substitute)));
  if (made != nullptr && next().signal_create(1, 0, nullptr, 0, &made->own) == kSuccess) {
    made->wanted = wanted;
    made->op = op;
    made->turn = turn;
    g_substitutes.fetch_add(1);
    if (next().signal_async_handler(made->own, kLess, 1, substitute_finished, made) == kSuccess) {
      return made;
    }
    g_substitutes.fetch_sub(1);
    next().signal_destroy(made->own);
  }
  free(made);
  agent().dropped("copies", 1);
  return nullptr;
}

template <typename Copy>
Status copy_with_substitute(const struct sonde_op& op, Signal wanted, Turn turn, Copy copy) {
  Substitute* made = substitute(wanted, op, turn);
  if (made == nullptr) {
    turn.end();
    return copy(wanted);
  }
  const Signal own = made->own;
  const Status status = copy(own);
  if (status != kSuccess) {
    made->refused = true;
    next().signal_subtract_screlease(own, 1);
  }
  return status;
}

// Makes the copy by calling `copy(signal)`, and watches it.
template <typename Copy>
Status watch(struct sonde_op op, Signal wanted, Turn turn, Copy copy) {
  if (turn.any()) return copy_with_substitute(op, wanted, turn, copy);
  if (!watching()) {
    if (wanted.handle != 0) settle(wanted);
    return copy(wanted);
  }
  ProgramSignal pending = {};
  const bool alone =
      wanted.handle != 0 && settle(wanted) && (pending.value = value_of(wanted)) == 1;
  if (!alone) return copy_with_substitute(op, wanted, {}, copy);
  pending.signal = wanted;
  pending.end_ts = end_of(wanted);
  pending.op = op;
  if (!add_program_signal(pending)) {
    agent().dropped("copies", 1);
    return copy(wanted);
  }
  const Status status = copy(wanted);
  if (status != kSuccess) forget_failed(wanted);
  work_was_queued();
  return status;
}

Status async_copy(void* dst, AgentHandle dst_agent, const void* src, AgentHandle src_agent,
                  size_t size, uint32_t dependencies, const Signal* depends_on, Signal completion) {
  Call call(kAsyncCopy);
  const auto op = copy_op(dst_agent, src_agent, dst, src, size);
  const Turn turn = take_turn(&dependencies, &depends_on);
  const Status status = watch(call.linked(op), completion, turn, [&](Signal signal) {
    return next().memory_async_copy(dst, dst_agent, src, src_agent, size, dependencies, depends_on,
                                    signal);
  });
  const uint64_t words[] = {word(dst), word(src), size};
  call.end(status, words, 3);
  return status;
}

Status async_copy_on_engine(void* dst, AgentHandle dst_agent, const void* src,
                            AgentHandle src_agent, size_t size, uint32_t dependencies,
                            const Signal* depends_on, Signal completion, uint32_t engine,
                            bool force) {
  Call call(kAsyncCopyOnEngine);
  const auto op = copy_op(dst_agent, src_agent, dst, src, size);
  const Turn turn = take_turn(&dependencies, &depends_on);
  const Status status = watch(call.linked(op), completion, turn, [&](Signal signal) {
    return next().memory_async_copy_on_engine(dst, dst_agent, src, src_agent, size, dependencies,
                                              depends_on, signal, engine, force);
  });
  const uint64_t words[] = {word(dst), word(src), size, engine};
  call.end(status, words, 4);
  return status;
}

enum Direction : uint32_t { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice };

Status async_copy_rect(const PitchedPointer* dst, const Dim3* dst_offset, const PitchedPointer* src,
                       const Dim3* src_offset, const Dim3* range, AgentHandle agent_handle,
                       uint32_t direction, uint32_t dependencies, const Signal* depends_on,
                       Signal completion) {
  Call call(kAsyncCopyRect);
  const AgentHandle host = {};
  const bool to_gpu = direction == kHostToDevice || direction == kDeviceToDevice;
  const bool from_gpu = direction == kDeviceToHost || direction == kDeviceToDevice;
  const uint64_t bytes =
      range != nullptr ? uint64_t{range->x} * range->y * range->z : 0;  // x is in bytes
  auto op =
      copy_op(to_gpu ? agent_handle : host, from_gpu ? agent_handle : host,
              dst != nullptr ? dst->base : nullptr, src != nullptr ? src->base : nullptr, bytes);
  if (range != nullptr) {
    op.size[0] = range->x;
    op.size[1] = range->y;
    op.size[2] = range->z;
  }
  const Turn turn = take_turn(&dependencies, &depends_on);
  const Status status = watch(call.linked(op), completion, turn, [&](Signal signal) {
    return next().memory_async_copy_rect(dst, dst_offset, src, src_offset, range, agent_handle,
                                         direction, dependencies, depends_on, signal);
  });
  const uint64_t words[] = {op.dst, op.src, op.size[0], op.size[1], op.size[2]};
  call.end(status, words, 5);
  return status;
}

// Copies are timed only while profiling is enabled, so it stays enabled.
Status async_copy_enable(bool) { return kSuccess; }

}  // namespace

uint64_t lose_copies() { return g_substitutes.exchange(0); }

void hook_copies(Functions* hooks) {
  hooks->memory_async_copy = async_copy;
  hooks->memory_async_copy_on_engine = async_copy_on_engine;
  hooks->memory_async_copy_rect = async_copy_rect;
  hooks->profiling_async_copy_enable = async_copy_enable;
  next().profiling_async_copy_enable(true);
}

}  // namespace sonde::hsa
