// The performance counter registers of gfx9. Used by the writer of the commands that read them and
// by the device that has them. Offsets are those of AMD's headers, in dwords.
#pragma once

#include <cstdint>
#include <vector>

#include "counters/counters.h"

namespace softgpu {

enum PerfRegister : uint32_t {
  kComputePerfcountEnable = 0x2e0b,
  kGrbmGfxIndex = 0xc200,
  kCpPerfmonControl = 0xd808,
  kSqPerfcounterControl = 0xd9e0,
  kRlcPerfmonClockControl = 0xdcbf,
};

// Where the counters of a block are; the high half of a value follows the low half, except for SPI,
// where it comes first.
struct PerfBlock {
  CounterBlock block;
  uint32_t event_bits;
  std::vector<uint32_t> selects, lows;
};
const std::vector<PerfBlock>& perf_blocks();

// Bits of GRBM_GFX_INDEX.
constexpr uint32_t kAllInstances = 1U << 30, kAllEngines = 1U << 31, kAllArrays = 1U << 29;
// A bit of SQ_PERFCOUNTER_CTRL: count waves of compute kernels.
constexpr uint32_t kSqCountsCompute = 1U << 6;
// States of CP_PERFMON_CNTL.
enum PerfmonState : uint32_t { kPerfmonReset = 0, kPerfmonStart = 1, kPerfmonStop = 2 };

}  // namespace softgpu
