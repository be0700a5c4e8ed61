// The waves of a queue as gfx9 saves them when their queue leaves the GPU (CWSR), which is what
// debuggers read and write: a control stack with a word for each wave, and the waves' registers and
// LDS from the area's end downwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/code_object.h"
#include "gpu/opcode.h"
#include "isa/wave.h"

namespace softgpu::isa {

// How many registers a wave has, in the units in which the GPU gives them out.
struct WaveRegisters {
  sonde::gpu::Architecture architecture = sonde::gpu::Architecture::kGfx90a;
  uint32_t vectors = 0, accumulators = 0;
};
WaveRegisters registers_of(sonde::gpu::Architecture architecture,
                           const sonde::gpu::KernelDescriptor& kernel);

// A work group whose waves are between two instructions: those that have not ended.
struct StoppedGroup {
  std::vector<Wave*> waves;
  std::span<uint8_t> lds;
  WaveRegisters registers;
};

struct SavedWaves {
  std::vector<uint32_t> control_stack;
  std::vector<uint8_t> waves;  // the control stack's end is where they begin
};
SavedWaves save(std::span<const StoppedGroup> groups);
// Gives the groups that were saved what stands in `waves` now. False if those are others.
bool restore(std::span<uint8_t> waves, std::span<const StoppedGroup> groups);

// What AMD's trap handlers write into the wave's TTMPs when they have stopped it: it is no more
// running, and was at this place. For what stops a wave here without a handler.
void mark_stopped(Wave& wave, uint64_t pc);

}  // namespace softgpu::isa
