// Operators by name: each is defined to the agent once and found again without a lock. Entries are
// never removed, and a forked child keeps them.
#pragma once

#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::torch {

// The agent's function id for the operator `name`; 0 if it cannot be defined.
uint32_t operator_id(const struct sonde_agent* agent, const char* name);

// A process that is attached to can take part in several recordings, each with its own ids: ids are
// stored with the number of their recording.
void begin_recording();
uint32_t this_recording();
uint64_t in_this_recording(uint32_t id);
uint32_t id_in_this_recording(uint64_t id);  // 0: it belongs to an earlier one

}  // namespace sonde::torch
