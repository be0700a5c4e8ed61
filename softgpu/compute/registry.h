// Registry: the kernels of all loaded programs and libraries that were built with softgpu-hipcc.
// Their constructors may run before any of ours, so its data is constant-initialised and never
// destroyed: the only process-wide state of the compute part.
#pragma once

#include <string_view>

#include "compute/kernel_abi.h"

namespace softgpu {

struct RegisteredKernel {
  const SoftgpuKernel* kernel = nullptr;
  const SoftgpuModule* module = nullptr;
};

// {} if there is none.
RegisteredKernel find_kernel(std::string_view name);

}  // namespace softgpu
