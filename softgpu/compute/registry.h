// Registry: the kernels of all programs and libraries built with softgpu-hipcc that are loaded in
// this process. Their constructors may run before any of ours, so what it keeps is constant-
// initialised and never destroyed: the one place of the compute part that is process-wide.
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
