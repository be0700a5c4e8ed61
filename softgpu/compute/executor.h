// Executor: runs kernels that exist as host code, on all host cores. Used by the device for each
// kernel dispatch. A program built with softgpu-hipcc carries its kernels as host code and
// registers them by name when it is loaded (kernel_abi.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace softgpu {

struct Dispatch {
  uint32_t grid[3] = {1, 1, 1};      // work items
  uint32_t group[3] = {1, 1, 1};     // work items of a work group
  uint32_t dynamic_group_bytes = 0;  // LDS beyond what the kernel declares itself
  const void* packet = nullptr;      // hsa_kernel_dispatch_packet_t
  const void* kernarg = nullptr;
  uint32_t wave_size = 64;
};

struct Outcome {
  enum Kind { kDone, kNoCode, kMemoryFault, kTrap } kind = kDone;
  uint64_t address = 0;  // of a memory fault
};

class Executor {
 public:
  explicit Executor(int threads);  // 0 = one for each core; they start at the first kernel
  ~Executor();

  // Whether host code is registered under this name (mangled, without ".kd").
  bool knows(std::string_view kernel) const;
  // Runs all work groups and returns when the last has ended. May be called from several threads.
  Outcome run(std::string_view kernel, const Dispatch& dispatch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softgpu
