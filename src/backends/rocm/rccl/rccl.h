// RCCL's calls, from its dispatch table (ROCm 6.2 and later); those by name need no call of this.
// Used by register.cpp.
#pragma once

namespace sonde::rocm {

void take_rccl_table(void* table);

}  // namespace sonde::rocm
