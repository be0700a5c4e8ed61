// The board's allocations as they were when what is reported happened: a program that goes on frees
// memory, and may get the same addresses again. Used by compose.cpp.
#pragma once

#include <cstdint>

#include "wire/board.h"

namespace sonde::fault {

// An allocation that contains the address, else one that did and was freed, else the nearest;
// nullptr if none is near. `time_ns` 0: as they are now.
const wire::BoardAllocation* nearest_allocation(const wire::Board& board, uint64_t address,
                                                int64_t time_ns);

// When it was freed; 0: not yet.
int64_t freed_ns_at(const wire::BoardAllocation& allocation, int64_t time_ns);

}  // namespace sonde::fault
