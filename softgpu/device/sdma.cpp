#include "device/sdma.h"

#include "base/time.h"
#include "device/comparison.h"

namespace softgpu {
namespace {

enum SdmaOp : uint32_t {
  kNop = 0,
  kCopyLinear = 1,
  kWrite = 2,
  kFence = 5,
  kTrap = 6,
  kPollMemory = 8,
  kAtomic = 10,
  kConstFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};
enum SdmaCopy : uint32_t { kLinear = 0, kSubWindow = 4 };

// Size of a linear copy or a fill in bytes, minus one: 22 bits up to gfx908, 30 from gfx90a on,
// which ROCr 6 uses; older runtimes leave the upper bits 0.
constexpr uint32_t kCountMask = 0x3fffffff;

uint32_t op_of(uint32_t header) { return header & 0xff; }
uint32_t sub_op_of(uint32_t header) { return header >> 8 & 0xff; }

}  // namespace

uint32_t SdmaQueue::dword(uint32_t i) const {
  return *reinterpret_cast<const uint32_t*>(spec_.ring + (next_ + i * 4) % spec_.ring_bytes);
}

uint64_t SdmaQueue::doorbell() const {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(spec_.doorbell), __ATOMIC_ACQUIRE);
}

Step SdmaQueue::advance() {
  if (running_) {
    if (sonde::monotonic_now_ns() < time_ns_) return {Step::kWaiting, time_ns_};
    finish();
  }
  if (is_long_) return {Step::kLong};
  uint64_t end = doorbell();
  if (next_ >= end) return {Step::kIdle};
  uint32_t header = dword(0);
  if (!decode(header)) {
    unknown(header);
    return {Step::kIdle};
  }
  bool waits = op_of(header) == kPollMemory;
  if (waits && !poll_ready()) {
    looked_at_ = true;
    return dead_ ? Step{Step::kIdle} : Step{Step::kBlocked};
  }
  begin_record(packet_.kind);
  record_.sdma = true;
  record_.index = next_;
  record_.start_ns = begin(!waits && next_ < follow_ && !looked_at_, end);
  looked_at_ = false;
  if (packet_.transfer && packet_.transfer->bytes() > kLongBytes) {
    is_long_ = true;
    return {Step::kLong};
  }
  return execute();
}

void SdmaQueue::run_long() {
  is_long_ = false;
  execute();
}

bool SdmaQueue::decode(uint32_t header) {
  packet_ = {};
  auto is = [this](std::string_view kind, uint32_t dwords) {
    packet_.kind = kind;
    packet_.dwords = dwords;
    return true;
  };
  switch (op_of(header)) {
    case kNop:
      return is("nop", 1 + (header >> 16 & 0x3fff));
    case kCopyLinear:
      return decode_copy(header);
    case kWrite:
      return sub_op_of(header) == 0 && is("write", 4 + (dword(3) & 0xfffff) + 1);
    case kFence:
      return is("fence", 4);
    case kTrap:
      return is("trap", 2);
    case kPollMemory:
      return is("poll", 6);
    case kAtomic:
      return is("atomic", 8);
    case kConstFill:
      packet_.transfer = decode_fill(header);
      return is("fill", 5);
    case kTimestamp:
      return is("timestamp", 3);
    case kGcr:
      return is("cache", 5);
    default:
      return false;
  }
}

bool SdmaQueue::decode_copy(uint32_t header) {
  packet_.kind = "copy";
  if (sub_op_of(header) == kLinear) {
    packet_.dwords = 7;
    packet_.transfer =
        Transfer{.src = qword(3), .dst = qword(5), .width = (dword(1) & kCountMask) + 1};
    return true;
  }
  if (sub_op_of(header) != kSubWindow) return false;
  packet_.kind = "copy_rect";
  packet_.dwords = 13;
  packet_.transfer = decode_rect(header);
  return true;
}

// Positions, pitches and extents are in elements.
Transfer SdmaQueue::decode_rect(uint32_t header) const {
  uint64_t element = 1ull << (header >> 29);
  struct Window {
    uint64_t start, row, slice;
  };
  auto window = [&](uint32_t i) {
    uint64_t x = dword(i + 2) & 0x3fff, y = dword(i + 2) >> 16 & 0x3fff, z = dword(i + 3) & 0x7ff;
    uint64_t row = (dword(i + 3) >> 13) + uint64_t{1};
    uint64_t slice = (dword(i + 4) & 0xfffffff) + uint64_t{1};
    return Window{qword(i) + (z * slice + y * row + x) * element, row * element, slice * element};
  };
  Window src = window(1), dst = window(6);
  return {.src = src.start,
          .dst = dst.start,
          .width = ((dword(11) & 0x3fff) + 1) * element,
          .height = (dword(11) >> 16 & 0x3fff) + 1,
          .depth = (dword(12) & 0x7ff) + 1,
          .src_row = src.row,
          .src_slice = src.slice,
          .dst_row = dst.row,
          .dst_slice = dst.slice};
}

Transfer SdmaQueue::decode_fill(uint32_t header) const {
  Transfer transfer{.kind = Transfer::kFill, .dst = qword(1)};
  uint32_t value = dword(3);
  for (int i = 0; i < 4; ++i) transfer.pattern[i] = static_cast<uint8_t>(value >> 8 * i);
  transfer.pattern_bytes = 1u << (header >> 30 & 3);
  // Bytes minus 1, or minus one element: rounding up gives the same for both.
  uint64_t bytes = (dword(4) & kCountMask) + 1;
  transfer.width = (bytes + transfer.pattern_bytes - 1) & ~uint64_t{transfer.pattern_bytes - 1};
  if (transfer.pattern_bytes > 4) transfer.pattern_bytes = 4;
  return transfer;
}

bool SdmaQueue::poll_ready() const {
  uint32_t header = dword(0);
  constexpr uint32_t kFlush = 1u << 26, kMemory = 1u << 31;
  if ((header & kFlush) || !(header & kMemory)) return true;
  const auto* address = memory_.at<uint32_t>(qword(1));
  if (!address) return true;  // execute_small() reports it
  uint32_t value = __atomic_load_n(address, __ATOMIC_ACQUIRE);
  return holds(value & dword(4), header >> 28 & 7, dword(3));
}

Step SdmaQueue::execute() {
  double model_ns = 0;
  if (const auto& transfer = packet_.transfer) {
    begin_work(true);
    if (Fault fault = run_transfer(*transfer, memory_)) {
      page_fault(*fault, MemoryFault::kNotPresent);
      return {Step::kIdle};
    }
    model_ns = copy_ns(transfer->bytes(), !op_);
    record_.transfer = transfer->kind == Transfer::kFill ? "fill" : "copy";
    record_.bytes = transfer->bytes();
    record_.src = transfer->src;
    record_.dst = transfer->dst;
    time_ns_ = end_of(record_.start_ns, model_ns);
    running_ = true;
    return {Step::kProgress};
  }
  time_ns_ = record_.start_ns;
  uint32_t header = dword(0);
  record_.end_ns = time_ns_;
  if (op_of(header) == kFence || op_of(header) == kAtomic) end_op(qword(1));
  if (!execute_small(header)) return {Step::kIdle};
  finish();
  return {Step::kProgress};
}

template <class T>
T* SdmaQueue::target() {
  T* address = memory_.at<T>(qword(1));
  if (!address) page_fault(qword(1), MemoryFault::kNotPresent);
  return address;
}

bool SdmaQueue::execute_small(uint32_t header) {
  switch (op_of(header)) {
    case kFence: {
      auto* address = target<uint32_t>();
      if (!address) return false;
      __atomic_store_n(address, dword(3), __ATOMIC_RELEASE);
      return true;
    }
    case kTimestamp: {
      auto* address = target<uint64_t>();
      if (!address) return false;
      __atomic_store_n(address, ticks(time_ns_), __ATOMIC_RELEASE);
      return true;
    }
    case kPollMemory:
      return !(header >> 31) || (header >> 26 & 1) || target<uint32_t>();
    case kTrap:
      services_.host.set_event(dword(1));
      return true;
    case kWrite:
      return write_data();
    case kAtomic:
      return atomic(header);
    default:
      return true;
  }
}

bool SdmaQueue::write_data() {
  uint32_t count = packet_.dwords - 4;
  uint64_t address = qword(1);
  if (Fault fault = memory_.check(address, count * 4ull)) {
    page_fault(*fault, MemoryFault::kNotPresent);
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) reinterpret_cast<uint32_t*>(address)[i] = dword(4 + i);
  return true;
}

bool SdmaQueue::atomic(uint32_t header) {
  constexpr uint32_t kAdd64 = 47;
  if (header >> 25 != kAdd64) {
    unknown(header);
    return false;
  }
  auto* address = target<int64_t>();
  if (!address) return false;
  __atomic_fetch_add(address, static_cast<int64_t>(qword(3)), __ATOMIC_ACQ_REL);
  return true;
}

void SdmaQueue::finish() {
  running_ = false;
  record_.end_ns = time_ns_;
  if (packet_.transfer) {
    end_work();
    add_to_op();
  }
  next_ += uint64_t{packet_.dwords} * 4;
  set_read_pointer(next_);
  if (packet_.kind != "nop") services_.oracle.packet(record_);
}

// Copies belong together until their completion is signalled.
void SdmaQueue::add_to_op() {
  if (op_ && op_->packet.kind != record_.kind) flush_op(0);
  if (!op_) {
    op_ = OpRecord{record_, 1};
    return;
  }
  ++op_->packets;
  op_->packet.bytes += record_.bytes;
  op_->packet.end_ns = record_.end_ns;
}

void SdmaQueue::flush_op(uint64_t signal) {
  op_->packet.signal = signal;
  services_.oracle.op(*op_);
  op_.reset();
}

// A write to a signal's value ends the op. Called before the write: whoever sees it also finds the
// line.
void SdmaQueue::end_op(uint64_t address) {
  constexpr uint64_t kSignalAlignment = 64;
  if (!op_) return;  // the write to the event's mailbox, which follows
  record_.signal = address & ~(kSignalAlignment - 1);
  flush_op(record_.signal);
}

void SdmaQueue::unknown(uint32_t header) {
  begin_record("unknown");
  record_.sdma = true;
  record_.index = next_;
  faulted("not_emulated");
  services_.notices.once("SDMA packet " + std::to_string(op_of(header)) + "/" +
                         std::to_string(sub_op_of(header)) +
                         " is not emulated: the queue stops here");
}

}  // namespace softgpu
