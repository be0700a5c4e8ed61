// The owner of the memory at an address, as the runtime knows it.
#pragma once

#include <stdint.h>

namespace sonde::hsa {

struct PointerInfo {
  int16_t gpu;  // -1: host memory, or unknown
  bool pinned;  // host memory that devices can access
};
PointerInfo pointer_info(uint64_t address);

}  // namespace sonde::hsa
