// Whose memory an address is, as the runtime knows it.
#pragma once

#include <stdint.h>

namespace sonde::hsa {

struct PointerInfo {
  int16_t gpu;  // -1: the host's, or not known
  bool pinned;  // host memory that devices may use
};
PointerInfo pointer_info(uint64_t address);

}  // namespace sonde::hsa
