// RCCL's calls through its dispatch table (ROCm 6.2 and later); calls by name do not need this.
// Used by register.cpp.
#pragma once

namespace sonde::rocm {

void take_rccl_table(void* table);

}  // namespace sonde::rocm
