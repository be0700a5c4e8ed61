#include "device/aql.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "base/time.h"

namespace softgpu {
namespace {

bool is_zero(uint64_t signal) { return signal_value(signal) == 0; }

// KFD's exception mask, in which bit N stands for exception N + 1.
uint64_t exceptions_of(QueueError error) {
  struct Exception {
    QueueError error;
    unsigned number;
  };
  constexpr Exception kExceptions[] = {
      {kBadDimensions, 16}, {kBadGroupMemory, 17},         {kBadCodeObject, 18},
      {kBadPacket, 20},     {kGroupTooLarge, 21},          {kBadVendorPacket, 23},
      {kApertureError, 6},  {kIllegalInstructionError, 4}, {kExceptionError, 2}};
  for (const Exception& each : kExceptions) {
    if (each.error == error) return uint64_t{1} << (each.number - 1);
  }
  return 0;
}

bool holds(int64_t left, uint32_t condition, int64_t right) {
  switch (condition) {
    case kEqual:
      return left == right;
    case kNotEqual:
      return left != right;
    case kLess:
      return left < right;
    default:
      return left >= right;
  }
}

}  // namespace

AqlQueue::AqlQueue(const QueueSpec& spec, Services& services, Gpu& gpu)
    : Queue(spec, services, gpu),
      shared_(
          reinterpret_cast<AmdQueue*>(spec.write_pointer - offsetof(AmdQueue, write_dispatch_id))),
      names_(memory_),
      machine_code_(services.engine, memory_, gpu.config.model),
      pm4_(memory_, gpu.counters, gpu.config.clock) {}

Step AqlQueue::advance() {
  switch (state_) {
    case State::kScratch:
      if (!is_zero(shared().inactive_signal)) return {Step::kBlocked};
      state_ = State::kFetch;
      looked_at_ = true;
      break;
    case State::kStreamOp:
      if (!stream_op_ready(*blit_->stream_op)) return {Step::kBlocked};
      record_.start_ns = begin_after_wait();
      return execute_kernel();
    case State::kPm4:
      return start_pm4();
    case State::kLong:
      return {Step::kLong};
    case State::kRunning:
      if (sonde::monotonic_now_ns() < time_ns_) return {Step::kWaiting, time_ns_};
      finish();
      return {Step::kProgress};
    case State::kFetch:
      break;
  }
  if (!fetch()) return {Step::kIdle};
  return start_packet();
}

// The doorbell only wakes the device. Its value may decrease when several threads submit, and
// overwritten values would be lost; the write index and the packet header are sufficient.
bool AqlQueue::fetch() {
  written_ = __atomic_load_n(&shared().write_dispatch_id, __ATOMIC_ACQUIRE);
  if (next_ >= written_) return false;
  auto* slot = reinterpret_cast<AqlPacket*>(spec_.ring) + next_ % ring_packets();
  uint16_t header = __atomic_load_n(&slot->header, __ATOMIC_ACQUIRE);
  if ((header & 0xff) == kAqlInvalid) {
    looked_at_ = true;  // a thread has not filled it yet
    return false;
  }
  packet_ = *slot;
  packet_.header = header;
  return true;
}

Step AqlQueue::start_packet() {
  bool follows = next_ < follow_ && !looked_at_;
  switch (packet_.header & 0xff) {
    case kAqlDispatch:
      begin_record("kernel");
      record_.start_ns = begin(follows, written_);
      return start_dispatch();
    case kAqlBarrierAnd: {
      const auto& dep = packet_.barrier.dep;
      bool waits = std::any_of(std::begin(dep), std::end(dep), [](uint64_t s) { return s != 0; });
      return start_barrier(barrier_and_ready(), waits || !follows, "barrier_and");
    }
    case kAqlBarrierOr:
      return start_barrier(barrier_or_ready(), true, "barrier_or");
    case kAqlVendor:
      return start_vendor();
    default:
      begin_record("invalid");
      fail(kBadPacket);
      return {Step::kProgress};
  }
}

void AqlQueue::begin_record(std::string_view kind) {
  Queue::begin_record(kind);
  record_.index = next_;
  record_.signal = packet_.dispatch.completion;
}

bool AqlQueue::barrier_and_ready() const {
  const auto& dep = packet_.barrier.dep;
  return std::all_of(std::begin(dep), std::end(dep),
                     [](uint64_t signal) { return !signal || is_zero(signal); });
}

bool AqlQueue::barrier_or_ready() const {
  const auto& dep = packet_.barrier.dep;
  auto given = [](uint64_t signal) { return signal != 0; };
  return std::none_of(std::begin(dep), std::end(dep), given) ||
         std::any_of(std::begin(dep), std::end(dep),
                     [](uint64_t signal) { return signal && is_zero(signal); });
}

Step AqlQueue::start_vendor() {
  const AqlBarrierValue& packet = packet_.barrier_value;
  if (packet.format == kFormatBarrierValue) {
    bool ready = !packet.signal ||
                 holds(signal_value(packet.signal) & packet.mask, packet.condition, packet.value);
    return start_barrier(ready, true, "barrier_value");
  }
  if (packet.format != kFormatPm4Ib) {
    begin_record("invalid");
    fail(kBadVendorPacket);
    return {Step::kProgress};
  }
  pm4_.begin(packet_.pm4);
  return start_pm4();
}

// Takes effect when everything before it on this queue has ended.
Step AqlQueue::start_pm4() {
  state_ = State::kFetch;
  switch (pm4_.run(std::max(time_ns_, sonde::monotonic_now_ns()))) {
    case Pm4::Result::kDone:
      return start_barrier(true, !(next_ < follow_), "pm4");
    case Pm4::Result::kWaits:
      state_ = State::kPm4;
      looked_at_ = true;
      return {Step::kBlocked};
    case Pm4::Result::kFault:
      begin_record("pm4");
      page_fault(pm4_.fault_address(), MemoryFault::kNotPresent);
      return {Step::kProgress};
    case Pm4::Result::kBadPacket:
      break;
  }
  services_.notices.once(pm4_.problem());
  begin_record("pm4");
  fail(kBadVendorPacket);
  return {Step::kProgress};
}

Step AqlQueue::start_barrier(bool ready, bool waits, std::string_view kind) {
  if (!ready) {
    looked_at_ = true;
    return {Step::kBlocked};
  }
  begin_record(kind);
  record_.start_ns = begin(!waits, written_);
  consume();
  time_ns_ = end_of(record_.start_ns, 0);
  finish();
  return {Step::kProgress};
}

void AqlQueue::consume() {
  auto* slot = reinterpret_cast<AqlPacket*>(spec_.ring) + next_ % ring_packets();
  __atomic_store_n(&slot->header, uint16_t{kAqlInvalid}, __ATOMIC_RELEASE);
  ++next_;
  looked_at_ = false;
  set_read_pointer(next_);
}

void AqlQueue::run_until(int64_t end_ns) {
  time_ns_ = end_ns;
  state_ = State::kRunning;
}

// The log comes first: whoever sees the completion also finds the line.
void AqlQueue::finish() {
  state_ = State::kFetch;
  record_.end_ns = time_ns_;
  bool kernel = record_.kind == "kernel";
  end_work();
  if (services_.oracle.enabled()) {
    services_.oracle.packet(record_);
    if (kernel) services_.oracle.op({record_, 1});
  }
  Ticks times{ticks(record_.start_ns), ticks(record_.end_ns)};
  bool profiling = shared().properties & kQueueProfiling;
  complete_signal(services_.host, packet_.dispatch.completion, profiling ? &times : nullptr);
  if (kernel && (shared().properties & kQueueScratchOnce)) {
    state_ = State::kScratch;
    store_signal(services_.host, shared().inactive_signal, kScratchReclaim);
  }
}

void AqlQueue::fail(QueueError error, const Outcome& outcome) {
  char text[32];
  std::snprintf(text, sizeof text, "queue_error_%#llx", static_cast<unsigned long long>(error));
  faulted(text);
  const uint64_t exceptions = outcome.exceptions != 0 ? outcome.exceptions : exceptions_of(error);
  if (services_.host.queue_exception(spec_.id, exceptions)) return;
  if (outcome.is_told) {
    interrupt_signal(services_.host, shared().inactive_signal);
  } else {
    store_signal(services_.host, shared().inactive_signal, error);
  }
}

}  // namespace softgpu
