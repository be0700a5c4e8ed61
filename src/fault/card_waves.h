// Waves of a process on cards, through AMD's debugger library where that is installed.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::fault {

// Stops the waves of the process for a moment, appends to the file what they are, in the lines of
// the software GPU (softgpu/isa/WAVES.md), and lets them go on. "" if that was done of all; else
// why it was not, and how to get them. Takes a few seconds at most. A process of its own does it:
// the library ends whoever calls it when something is amiss.
std::string write_card_waves(int64_t pid, const std::string& file);

}  // namespace sonde::fault
