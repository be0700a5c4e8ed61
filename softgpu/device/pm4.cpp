#include "device/pm4.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "device/comparison.h"
#include "device/device.h"

namespace softgpu {
namespace {

// Type 3 packets, with the names of the kernel's soc15d.h.
enum Opcode : uint32_t {
  kNop = 0x10,
  kAtomicMem = 0x1e,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kEventWrite = 0x46,
  kReleaseMem = 0x49,
  kDmaData = 0x50,
  kAcquireMem = 0x58,
  kSetConfigReg = 0x68,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
};
constexpr uint32_t kConfigBegin = 0x2000, kShBegin = 0x2c00, kUconfigBegin = 0xc000;
constexpr uint32_t kL2Action = 1u << 23;  // a bit of CP_COHER_CNTL: TC_ACTION_ENA
constexpr size_t kDeepest = 4;            // command buffers that call each other

// The minimum number of dwords after the header; 0 for others.
constexpr std::pair<Opcode, uint32_t> kLeastWords[] = {
    {kEventWrite, 1},     {kSetConfigReg, 2}, {kSetShReg, 2}, {kSetUconfigReg, 2},
    {kIndirectBuffer, 3}, {kWriteData, 4},    {kCopyData, 5}, {kWaitRegMem, 6},
    {kAcquireMem, 6},     {kReleaseMem, 6},   {kDmaData, 6},  {kAtomicMem, 8}};

uint32_t least_words(uint32_t opcode) {
  for (const auto& [known, words] : kLeastWords) {
    if (known == opcode) return words;
  }
  return 0;
}

uint64_t wide(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

}  // namespace

void Pm4::begin(const AqlPm4Ib& packet) {
  stack_.clear();
  stack_.push_back({packet.jump, 4});
}

Pm4::Result Pm4::bad(const std::string& what) {
  problem_ = what;
  return Result::kBadPacket;
}

bool Pm4::faults(uint64_t address, uint64_t bytes) {
  const Fault fault = memory_.check(address, bytes);
  if (fault) fault_ = *fault;
  return fault.has_value();
}

Pm4::Result Pm4::run(int64_t now_ns) {
  while (!stack_.empty()) {
    Buffer& buffer = stack_.back();
    if (buffer.left == 0) {
      stack_.pop_back();
      continue;
    }
    const uint32_t header = *buffer.at;
    const uint32_t count = (header >> 16 & 0x3fff) + 1, opcode = header >> 8 & 0xff;
    const bool is_filler = header >> 30 == 2 || (header >> 30 == 3 && opcode == kNop &&
                                                 (header >> 16 & 0x3fff) == 0x3fff);
    if (is_filler) {
      ++buffer.at;
      --buffer.left;
      continue;
    }
    if (header >> 30 != 3) return bad("a PM4 packet of type " + std::to_string(header >> 30));
    if (count >= buffer.left) return bad("a PM4 packet that its buffer does not hold");
    if (count < least_words(opcode)) return bad("a PM4 packet that is too short");
    const Words words = buffer.at + 1;
    const Buffer before = buffer;
    buffer.at += count + 1;
    buffer.left -= count + 1;
    const Result result = packet(opcode, words, count, now_ns);
    if (result == Result::kWaits) stack_.back() = before;
    if (result != Result::kDone) return result;
  }
  return Result::kDone;
}

Pm4::Result Pm4::packet(uint32_t opcode, Words words, uint32_t count, int64_t now_ns) {
  switch (opcode) {
    case kNop:
    case kEventWrite:  // everything before it on this queue has ended
      return Result::kDone;
    case kAcquireMem:  // only the counters' cache model has caches
      if ((words[0] & kL2Action) != 0) registers_.invalidate_caches();
      return Result::kDone;
    case kIndirectBuffer:
      return enter(wide(words[0] & ~3U, words[1] & 0xffff), words[2] & 0xfffff);
    case kSetConfigReg:
      return set_registers(kConfigBegin, words, count, now_ns);
    case kSetShReg:
      return set_registers(kShBegin, words, count, now_ns);
    case kSetUconfigReg:
      return set_registers(kUconfigBegin, words, count, now_ns);
    case kCopyData:
      return copy_data(words, now_ns);
    case kAtomicMem:
      return swap(words);
    case kDmaData:
      return dma_data(words);
    case kWriteData:
      return write_data(words, count, now_ns);
    case kReleaseMem:
      return release_memory(words, now_ns);
    case kWaitRegMem:
      return wait(words, now_ns);
    default:
      char text[48];
      std::snprintf(text, sizeof(text), "unknown PM4 packet %#x", opcode);
      return bad(text);
  }
}

Pm4::Result Pm4::enter(uint64_t address, uint32_t dwords) {
  if (stack_.size() > kDeepest) return bad("PM4 buffers that call each other endlessly");
  if (faults(address, uint64_t{dwords} * 4)) return Result::kFault;
  stack_.push_back({reinterpret_cast<const uint32_t*>(memory_.own_address(address)), dwords});
  return Result::kDone;
}

Pm4::Result Pm4::set_registers(uint32_t base, Words words, uint32_t count, int64_t now_ns) {
  for (uint32_t i = 1; i < count; ++i)
    registers_.write(base + (words[0] & 0xffff) + i - 1, words[i], now_ns);
  return Result::kDone;
}

Pm4::Result Pm4::store(uint64_t address, uint64_t value, bool is_wide) {
  if (faults(address, is_wide ? 8 : 4)) return Result::kFault;
  const uint64_t own = memory_.own_address(address);
  if (is_wide && own % 8 == 0) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(own), value, __ATOMIC_RELEASE);
    return Result::kDone;
  }
  if (own % 4 != 0) return bad("a PM4 packet writes to an address that is not a multiple of 4");
  auto* to = reinterpret_cast<uint32_t*>(own);
  __atomic_store_n(to, static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  if (is_wide) __atomic_store_n(to + 1, static_cast<uint32_t>(value >> 32), __ATOMIC_RELEASE);
  return Result::kDone;
}

bool Pm4::load(uint64_t address, uint64_t& value, bool is_wide) {
  address &= ~uint64_t{3};
  if (faults(address, is_wide ? 8 : 4)) return false;
  const auto* from = reinterpret_cast<const uint32_t*>(memory_.own_address(address));
  value = __atomic_load_n(from, __ATOMIC_ACQUIRE);
  if (is_wide) value |= uint64_t{__atomic_load_n(from + 1, __ATOMIC_ACQUIRE)} << 32;
  return true;
}

// ATOMIC_MEM: only exchanges that return the old value are implemented.
Pm4::Result Pm4::swap(Words words) {
  constexpr uint32_t kSwap32 = 7, kSwap64 = 39;
  const uint32_t operation = words[0] & 0x7f;
  if (operation != kSwap32 && operation != kSwap64)
    return bad("ATOMIC_MEM of operation " + std::to_string(operation));
  const bool is_wide = operation == kSwap64;
  const uint64_t address = wide(words[1], words[2]);
  if (faults(address, is_wide ? 8 : 4)) return Result::kFault;
  const uint64_t own = memory_.own_address(address);
  if (own % (is_wide ? 8 : 4) != 0) return bad("ATOMIC_MEM at an address that is not aligned");
  swapped_ =
      is_wide ? __atomic_exchange_n(reinterpret_cast<uint64_t*>(own), wide(words[3], words[4]),
                                    __ATOMIC_ACQ_REL)
              : __atomic_exchange_n(reinterpret_cast<uint32_t*>(own), words[3], __ATOMIC_ACQ_REL);
  return Result::kDone;
}

// Memory to memory, whichever cache is selected.
Pm4::Result Pm4::dma_data(Words words) {
  constexpr uint32_t kMemory = 0, kMemoryByL2 = 3;
  const uint32_t from = words[0] >> 29 & 3, to = words[0] >> 20 & 3, bytes = words[5] & 0x3ffffff;
  const bool is_registers = (words[5] >> 26 & 3) != 0;
  if ((from != kMemory && from != kMemoryByL2) || (to != kMemory && to != kMemoryByL2) ||
      is_registers)
    return bad("DMA_DATA from " + std::to_string(from) + " to " + std::to_string(to));
  const uint64_t source = wide(words[1], words[2]), target = wide(words[3], words[4]);
  if (faults(source, bytes) || faults(target, bytes)) return Result::kFault;
  std::memmove(reinterpret_cast<void*>(memory_.own_address(target)),
               reinterpret_cast<const void*>(memory_.own_address(source)), bytes);
  return Result::kDone;
}

Pm4::Result Pm4::copy_data(Words words, int64_t now_ns) {
  const uint32_t from = words[0] & 15, to = words[0] >> 8 & 15;
  const bool is_wide = words[0] >> 16 & 1;
  uint64_t value = 0;
  switch (from) {
    case 0:  // a register
    case 4:  // a performance counter
      value = registers_.read(words[1], now_ns);
      if (is_wide) value |= uint64_t{registers_.read(words[1] + 1, now_ns)} << 32;
      break;
    case 1:
    case 2:  // memory, whichever cache
      if (!load(wide(words[1], words[2]), value, is_wide)) return Result::kFault;
      break;
    case 5:
      value = is_wide ? wide(words[1], words[2]) : words[1];
      break;
    case 6:
      value = swapped_;
      break;
    case 9:
      value = device_ticks_at(clock_, now_ns);
      break;
    default:
      return bad("COPY_DATA from source " + std::to_string(from));
  }
  switch (to) {
    case 0:
    case 4:
      registers_.write(words[3], static_cast<uint32_t>(value), now_ns);
      if (is_wide) registers_.write(words[3] + 1, static_cast<uint32_t>(value >> 32), now_ns);
      return Result::kDone;
    case 1:
    case 2:
    case 5:
      return store(wide(words[3], words[4]), value, is_wide);
    default:
      return bad("COPY_DATA to destination " + std::to_string(to));
  }
}

Pm4::Result Pm4::write_data(Words words, uint32_t count, int64_t now_ns) {
  const uint32_t to = words[0] >> 8 & 15;
  const uint32_t step = words[0] >> 16 & 1 ? 0 : 1;  // all to one address
  for (uint32_t i = 3; i < count; ++i) {
    const uint32_t at = (i - 3) * step;
    if (to == 0) {
      registers_.write(words[1] + at, words[i], now_ns);
    } else if (to == 1 || to == 2 || to == 5) {
      const Result result = store(wide(words[1], words[2]) + uint64_t{at} * 4, words[i], false);
      if (result != Result::kDone) return result;
    } else {
      return bad("WRITE_DATA to destination " + std::to_string(to));
    }
  }
  return Result::kDone;
}

Pm4::Result Pm4::release_memory(Words words, int64_t now_ns) {
  const uint64_t address = wide(words[2], words[3]);
  switch (words[1] >> 29) {
    case 0:
      return Result::kDone;
    case 1:
    case 2:
      return store(address, wide(words[4], words[5]), words[1] >> 29 == 2);
    case 3:
    case 4:  // a clock
      return store(address, device_ticks_at(clock_, now_ns), true);
    default:
      return bad("RELEASE_MEM of data " + std::to_string(words[1] >> 29));
  }
}

Pm4::Result Pm4::wait(Words words, int64_t now_ns) {
  uint64_t value = 0;
  if (words[0] >> 4 & 1) {
    if (!load(wide(words[1], words[2]), value, false)) return Result::kFault;
  } else {
    value = registers_.read(words[1], now_ns);
  }
  const bool is_so = holds(static_cast<uint32_t>(value) & words[4], words[0] & 7, words[3]);
  return is_so ? Result::kDone : Result::kWaits;
}

}  // namespace softgpu
