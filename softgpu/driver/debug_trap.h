// KFD's calls of debuggers (DBG_TRAP): what they ask of another process, or of their own.
#pragma once

#include "driver/driver.h"
#include "driver/kfd_abi.h"

namespace softgpu {

// An errno value, or, negative, a count that the call answers with.
int debug_trap(Driver& driver, kfd::DebugTrap& request);

}  // namespace softgpu
