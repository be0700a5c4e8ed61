// A queue's save area in this process' memory, in the runtime's layout. Nothing here faults.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/debug_state.h"
#include "isa/save_area.h"

namespace softgpu {

// False if there is no room for them.
bool write_save_area(const DebuggedQueue& queue, const isa::SavedWaves& saved);
// The waves currently stored there; empty if there are none.
std::vector<uint8_t> read_save_area(const DebuggedQueue& queue);
// Adds to the exceptions of the queue where the runtime looks for them; returns the event that it
// waits for, 0 if it does not.
uint32_t add_exceptions(const DebuggedQueue& queue, uint64_t exceptions);

}  // namespace softgpu
