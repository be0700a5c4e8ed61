// The stack of a call that launches work of a device, taken by the calling thread itself at the
// call's begin and written with the call's correlation: so the time of the operations has an exact
// place in the program's code, not one by statistics.
#pragma once

#include "backends/cpu/sampler.h"

namespace sonde::cpu {

// Once. False: nobody wants these stacks.
bool prepare_launches(const struct sonde_agent* agent, uint32_t own_module);

}  // namespace sonde::cpu
