// GPUs by the kernel driver's numbering, among all nodes of the machine. Used by tracer.cpp.
#pragma once

#include <stdint.h>

namespace sonde::hip {

// The index of the GPU among the GPU nodes, which is HSA's number; `node` if the driver does not
// list it as a GPU.
int32_t gpu_of_node(int32_t node);

}  // namespace sonde::hip
