// Operators by name: each is defined to the agent once and found again without a lock. Entries are
// never removed, and a forked child keeps them.
#pragma once

#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::torch {

// The agent's id of the function that is the operator `name`; 0 if it cannot be defined.
uint32_t operator_id(const struct sonde_agent* agent, const char* name);

}  // namespace sonde::torch
