// MachineCode: from a dispatch's kernel object to what the engine (isa/) runs, through the code
// object that ROCr loaded around it. One instance per queue; not thread-safe.
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

  // Where the kernel's code is, if it is for this GPU and an engine supports it. The descriptor
  // must be mapped.
  struct Place {
    uint64_t begin = 0, bytes = 0;
  };
  std::optional<Place> find(uint64_t kernel_object) const;
  // The initial state of this dispatch's waves; the caller adds what only it knows.
  isa::Launch launch(const AqlDispatch& packet, uint64_t kernarg, uint64_t queue) const;
  // The runtime's trap handler, if it is where code can be.
  isa::TrapHandler trap_handler(uint64_t code, uint64_t memory) const;
  std::unique_ptr<isa::MachineKernel> kernel(const Place& place, const isa::Launch& launch) const;

 private:
  isa::Engine& engine_;
  const GpuMemory& memory_;
  const std::optional<sonde::gpu::Architecture> architecture_;
};

}  // namespace softgpu
