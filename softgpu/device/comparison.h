// The comparison function codes of packets that wait for a value, shared by PM4 and SDMA.
#pragma once

#include <cstdint>

namespace softgpu {

inline bool holds(uint32_t left, uint32_t comparison, uint32_t right) {
  switch (comparison) {
    case 1:
      return left < right;
    case 2:
      return left <= right;
    case 3:
      return left == right;
    case 4:
      return left != right;
    case 5:
      return left >= right;
    case 6:
      return left > right;
    default:
      return true;
  }
}

}  // namespace softgpu
