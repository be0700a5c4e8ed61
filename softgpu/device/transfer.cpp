#include "device/transfer.h"

#include <algorithm>
#include <cstring>

namespace softgpu {
namespace {

// Doubles what is there, so that long fills run at the speed of memcpy.
void fill_row(uint8_t* row, uint64_t bytes, const Transfer& transfer) {
  if (transfer.pattern_bytes == 1) {
    std::memset(row, transfer.pattern[0], bytes);
    return;
  }
  uint64_t done = std::min<uint64_t>(bytes, transfer.pattern_bytes);
  std::memcpy(row, transfer.pattern.data(), done);
  uint64_t unit = std::max<uint64_t>(done, (64 * 1024) / done * done);
  while (done < bytes) {
    uint64_t step = std::min({done, unit, bytes - done});
    std::memcpy(row + done, row, step);
    done += step;
  }
}

Fault run_row(const Transfer& transfer, uint64_t dst, uint64_t src, const GpuMemory& memory) {
  if (Fault fault = memory.check(dst, transfer.width)) return fault;
  if (transfer.kind == Transfer::kFill) {
    fill_row(reinterpret_cast<uint8_t*>(memory.own_address(dst)), transfer.width, transfer);
    return std::nullopt;
  }
  if (Fault fault = memory.check(src, transfer.width)) return fault;
  std::memmove(reinterpret_cast<void*>(memory.own_address(dst)),
               reinterpret_cast<const void*>(memory.own_address(src)), transfer.width);
  return std::nullopt;
}

}  // namespace

Fault run_transfer(const Transfer& transfer, const GpuMemory& memory) {
  if (transfer.width == 0) return std::nullopt;
  for (uint64_t z = 0; z < transfer.depth; ++z) {
    for (uint64_t y = 0; y < transfer.height; ++y) {
      uint64_t dst = transfer.dst + z * transfer.dst_slice + y * transfer.dst_row;
      uint64_t src = transfer.src + z * transfer.src_slice + y * transfer.src_row;
      if (Fault fault = run_row(transfer, dst, src, memory)) return fault;
    }
  }
  return std::nullopt;
}

}  // namespace softgpu
