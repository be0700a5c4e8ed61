// KFD's debugger calls (DBG_TRAP): requests to another process, or to the caller's own.
#pragma once

#include "driver/driver.h"
#include "driver/kfd_abi.h"

namespace softgpu {

// Returns an errno, or a negated count as the call's result.
int debug_trap(Driver& driver, kfd::DebugTrap& request);

}  // namespace softgpu
