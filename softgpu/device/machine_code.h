// MachineCode: from the kernel object of a dispatch to what the engine (isa/) runs: the code object
// that ROCr loaded around it. One instance for each queue; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "device/amd_abi.h"
#include "device/memory.h"
#include "gpu/opcode.h"
#include "isa/kernel.h"

namespace softgpu {

class MachineCode {
 public:
  MachineCode(isa::Engine& engine, const GpuMemory& memory, const std::string& model);

  // Where the code of the kernel is, if it is for this GPU and there is an engine for that. The
  // descriptor must be mapped.
  struct Place {
    uint64_t begin = 0, bytes = 0;
  };
  std::optional<Place> find(uint64_t kernel_object) const;
  // What the waves of this dispatch start with; the caller adds what only it knows.
  isa::Launch launch(const AqlDispatch& packet, uint64_t kernarg, uint64_t queue) const;
  // The runtime's, if it is where code can be.
  isa::TrapHandler trap_handler(uint64_t code, uint64_t memory) const;
  std::unique_ptr<isa::MachineKernel> kernel(const Place& place, const isa::Launch& launch) const;

 private:
  uint64_t find_elf(uint64_t kernel_object) const;

  isa::Engine& engine_;
  const GpuMemory& memory_;
  const std::optional<sonde::gpu::Architecture> architecture_;
};

}  // namespace softgpu
