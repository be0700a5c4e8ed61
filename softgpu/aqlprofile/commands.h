// The PM4 commands of a counter session on gfx9: select and start, read, stop. For the library that
// profilers load; the device executes them like any other commands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "counters/counters.h"
#include "counters/registers.h"

namespace softgpu::aqlprofile {

// A requested counter of an instance of its block, with the block's register that it is assigned
// to.
struct Selected {
  const Counter* counter = nullptr;
  const PerfBlock* block = nullptr;
  uint32_t event = 0;
  uint32_t instance = 0;
  uint32_t slot = 0;
};

struct Wanted {
  CounterBlock block;
  uint32_t instance = 0, event = 0;
};

// nullptr if it cannot be counted on a GPU of this size.
const Counter* countable(const Wanted& wanted, const CounterGeometry& geometry);
// nullopt if a counter cannot be counted, or a block has too few registers.
std::optional<std::vector<Selected>> select(std::span<const Wanted> wanted,
                                            const CounterGeometry& geometry);

using Commands = std::vector<uint32_t>;
Commands start_commands(std::span<const Selected> selected);
// Writes the values to `output`, 64 bits per counter and engine of its block.
Commands read_commands(std::span<const Selected> selected, const CounterGeometry& geometry,
                       uint64_t output);
Commands stop_commands(std::span<const Selected> selected, const CounterGeometry& geometry,
                       uint64_t output);
uint32_t values_of(std::span<const Selected> selected, const CounterGeometry& geometry);

}  // namespace softgpu::aqlprofile
