// Names and resource use of kernels by handle. Used by wrap.h and describe.cpp.
#pragma once

#include "backends/opencl/layer.h"

namespace sonde::opencl {

struct Kernel {
  const char* text;  // the name; lives as long as the process
  uint32_t name;     // its intern() id
  uint32_t group_bytes, private_bytes;
  bool stale;  // the sizes above must be queried again
};

Kernel find_kernel(cl_kernel handle, cl_command_queue queue);
const char* kernel_text(cl_kernel handle);

// In a forked child: another thread of the parent may have held a lock.
void reset_kernel_locks();

}  // namespace sonde::opencl
