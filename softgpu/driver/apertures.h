// The address ranges that flat instructions of a GPU distinguish, as KFD reports them; the same for
// each GPU.
#pragma once

#include <cstdint>

namespace softgpu {

constexpr struct {
  uint64_t lds_base = 0x1000000000000, lds_limit = 0x10000FFFFFFFF;
  uint64_t scratch_base = 0x2000000000000, scratch_limit = 0x20000FFFFFFFF;
  uint64_t gpuvm_base = 0x4000, gpuvm_limit = (uint64_t{1} << 47) - 1;
} kApertures;

}  // namespace softgpu
