// Reading the runtime's API tables, and replacing their functions by ours. The layout of a table is
// determined by its own size, which the runtime stores in `minor_id`.
#pragma once

#include "backends/rocm/hsa/hsa_abi.h"

namespace sonde::hsa {

struct Functions {
#define X(table, offset, name, result, parameters) result(*name) parameters;
#include "backends/rocm/hsa/functions.inc"
#undef X
};

// The layout of the AMD table.
struct AmdLayout {
  bool known;
  uint32_t inserted;  // bytes inserted before ROCm 5.5's offset 144
};
AmdLayout amd_layout(uint32_t minor_id);

constexpr uint32_t kCoreBytes = 1016;  // size of the core table, unchanged since ROCm 4.0

// Reads the runtime's functions. False, and nothing is read, if the layout is unknown. Functions
// that a version lacks are nullptr.
bool read_tables(const ApiTable& table, Functions* functions);

// Writes the functions of `hooks` that are not nullptr into the table, if the version has them.
void write_tables(const ApiTable& table, const Functions& hooks);

}  // namespace sonde::hsa
