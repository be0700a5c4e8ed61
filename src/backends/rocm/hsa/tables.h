// The runtime's API tables: the functions behind them, and putting ours in their place. Which
// layout a table has is decided by its own size, which the runtime writes into `minor_id`.
#pragma once

#include "backends/rocm/hsa/hsa_abi.h"

namespace sonde::hsa {

struct Functions {
#define X(table, offset, name, result, parameters) result(*name) parameters;
#include "backends/rocm/hsa/functions.inc"
#undef X
};

// Where the functions of the AMD table lie.
struct AmdLayout {
  bool known;
  uint32_t inserted;  // bytes before what ROCm 5.5 has at offset 144
};
AmdLayout amd_layout(uint32_t minor_id);

constexpr uint32_t kCoreBytes = 1016;  // of the core table, unchanged from ROCm 4.0 on

// Reads the functions of the runtime. False, and nothing is read, when the layout is not known.
// What a version lacks is nullptr.
bool read_tables(const ApiTable& table, Functions* functions);

// Writes the functions of `hooks` that are not nullptr and that the version has into the table.
void write_tables(const ApiTable& table, const Functions& hooks);

}  // namespace sonde::hsa
