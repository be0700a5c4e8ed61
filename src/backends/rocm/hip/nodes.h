// GPUs as the kernel driver numbers them, among all nodes of the machine. Used by tracer.cpp.
#pragma once

#include <stdint.h>

namespace sonde::hip {

// The GPU's place among the nodes that are GPUs, as HSA numbers them; `node` where the driver says
// nothing of such a GPU.
int32_t gpu_of_node(int32_t node);

}  // namespace sonde::hip
