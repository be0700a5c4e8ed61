// The waves of a process on real GPUs, through AMD's debugger library, if installed.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::fault {

// Stops the waves of the process for a moment, appends their state to the file in the format of the
// software GPU (softgpu/isa/WAVES.md), and resumes them. Returns "" if that worked for all; else
// why not, and how to get them. Takes a few seconds at most. Runs in a child process, because the
// library terminates its caller on internal errors.
std::string write_card_waves(int64_t pid, const std::string& file);

}  // namespace sonde::fault
