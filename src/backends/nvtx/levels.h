// How many ranges this thread has open in each domain: NVTX tells it to the program, whether or not
// anything is recorded. Used by the nvtx backend.
#pragma once

#include <stdint.h>

namespace sonde::nvtx {

// The level a pushed range got (0 is the outermost), or kNoPushPopTracking without memory.
int push_level(uint32_t domain);

// The level of the range that is popped, -1 when none is open, kNoPushPopTracking when unknown.
int pop_level(uint32_t domain);

}  // namespace sonde::nvtx
