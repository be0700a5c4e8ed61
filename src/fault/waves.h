// Waves of the software GPU, from the file of `softgpu --waves` (softgpu/isa/WAVES.md).
#pragma once

#include <string>
#include <vector>

#include "fault/code.h"
#include "fault/report.h"

namespace sonde::fault {

// The states of one process' waves, at most so many, in the order in which they were written.
std::vector<Wave> read_waves(const std::string& path, int64_t pid, size_t from = 0,
                             size_t most = 1 << 16);

// What stands at the same place for the same reason is one group.
std::vector<WaveGroup> group_waves(std::vector<Wave> waves, CodeObjects& code);

// The addresses that the lanes of a wave were about to touch, where its instruction is one of
// memory.
std::vector<WaveLane> touched_by(const Wave& wave, CodeObjects& code);

}  // namespace sonde::fault
