#include "device/memory.h"

namespace softgpu {

Fault GpuMemory::check(uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || host_.is_mapped(gpu_, address, bytes)) return std::nullopt;
  constexpr uint64_t kPage = 4096;
  if (!host_.is_mapped(gpu_, address, 1)) return address;
  // The start is mapped: the fault is at the first page that is not. good is mapped, bad is not.
  uint64_t good = address / kPage, bad = (address + bytes - 1) / kPage + 1;
  while (bad - good > 1) {
    uint64_t middle = good + (bad - good) / 2;
    if (host_.is_mapped(gpu_, address, middle * kPage + 1 - address)) {
      good = middle;
    } else {
      bad = middle;
    }
  }
  return bad * kPage;
}

}  // namespace softgpu
