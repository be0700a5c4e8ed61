// The number of ranges that this thread has open in each domain: NVTX returns it to the program,
// whether or not anything is recorded.
#pragma once

#include <stdint.h>

namespace sonde::nvtx {

// The level of a pushed range (0 is the outermost), or kNoPushPopTracking without memory.
int push_level(uint32_t domain);

// The level of the popped range, -1 if none is open, kNoPushPopTracking if unknown.
int pop_level(uint32_t domain);

}  // namespace sonde::nvtx
