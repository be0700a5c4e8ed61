// The stack of a call that launches work on a device, taken by the calling thread itself when the
// call begins, and written with the call's correlation: so the device time is attributed exactly to
// a place in the program's code, not statistically.
#pragma once

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// Call once. False if launch stacks are not wanted.
bool prepare_launches(const struct sonde_agent* agent, uint32_t own_module);

}  // namespace sonde::cpu
