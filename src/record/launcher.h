// softgpu in front of the recorded program: it is the command then, and ends as the program does.
#pragma once

#include <string>

namespace sonde::record {

// The software GPU's launcher installed beside this tool; "" if there is none.
std::string softgpu_launcher();

// Whether the file is that launcher.
bool is_softgpu(const std::string& file);

}  // namespace sonde::record
