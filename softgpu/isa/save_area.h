// The waves of a queue in the layout in which gfx9 saves them when the queue leaves the GPU (CWSR),
// which debuggers read and write: a control stack with a word per wave, and the waves' registers
// and LDS from the end of the area downwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/code_object.h"
#include "gpu/opcode.h"
#include "isa/wave.h"

namespace softgpu::isa {

// A wave's register counts, in units of allocation.
struct WaveRegisters {
  sonde::gpu::Architecture architecture = sonde::gpu::Architecture::kGfx90a;
  uint32_t vectors = 0, accumulators = 0;
};
WaveRegisters registers_of(sonde::gpu::Architecture architecture,
                           const sonde::gpu::KernelDescriptor& kernel);

// A work group whose unfinished waves are all between two instructions.
struct StoppedGroup {
  std::vector<Wave*> waves;
  std::span<uint8_t> lds;
  WaveRegisters registers;
};

struct SavedWaves {
  std::vector<uint32_t> control_stack;
  std::vector<uint8_t> waves;  // the control stack ends where they begin
};
SavedWaves save(std::span<const StoppedGroup> groups);
// Writes the contents of `waves` back to the groups that were saved. False if the groups are not
// the same.
bool restore(std::span<uint8_t> waves, std::span<const StoppedGroup> groups);

// Writes to the wave's TTMPs what AMD's trap handlers do when they stop a wave: that it has
// stopped, and where. For waves that softgpu stops without a handler.
void mark_stopped(Wave& wave, uint64_t pc);

}  // namespace softgpu::isa
