// PM4 command buffers, which AQL packets can refer to: not executed, but told apart into those that
// only flush caches, which have nothing to do here, and others (performance counters).
#pragma once

#include <cstdint>

#include "device/amd_abi.h"
#include "device/memory.h"

namespace softgpu {

bool only_flushes_caches(const AqlPm4Ib& packet, const GpuMemory& memory);

}  // namespace softgpu
