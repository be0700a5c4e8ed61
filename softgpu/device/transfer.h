// Transfer: a copy or fill of up to three dimensions, to which SDMA packets and the runtimes' blit
// kernels are reduced.
#pragma once

#include <array>
#include <cstdint>

#include "device/memory.h"

namespace softgpu {

struct Transfer {
  enum Kind { kCopy, kFill } kind = kCopy;
  uint64_t src = 0, dst = 0;  // the first byte
  uint64_t width = 0;         // bytes of a row
  uint64_t height = 1, depth = 1;
  uint64_t src_row = 0, src_slice = 0;  // bytes from one row or slice to the next
  uint64_t dst_row = 0, dst_slice = 0;
  std::array<uint8_t, 128> pattern{};
  uint32_t pattern_bytes = 1;

  uint64_t bytes() const { return width * height * depth; }
};

Fault run_transfer(const Transfer& transfer, const GpuMemory& memory);

}  // namespace softgpu
