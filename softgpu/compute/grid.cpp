#include <algorithm>

#include "compute/executor.h"

namespace softgpu {

Grid::Grid(const Dispatch& dispatch) : total(1) {
  for (int d = 0; d < 3; d++) {
    items[d] = dispatch.grid[d];
    size[d] = std::max(1u, dispatch.group[d]);
    groups[d] = (items[d] + size[d] - 1) / size[d];
    total *= groups[d];
  }
}

void Grid::place(uint64_t index, uint32_t (&id)[3], uint32_t (&own)[3]) const {
  id[0] = static_cast<uint32_t>(index % groups[0]);
  id[1] = static_cast<uint32_t>(index / groups[0] % groups[1]);
  id[2] = static_cast<uint32_t>(index / groups[0] / groups[1]);
  for (int d = 0; d < 3; d++) own[d] = std::min(size[d], items[d] - id[d] * size[d]);
}

}  // namespace softgpu
