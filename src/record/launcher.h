// softgpu in front of the recorded program: it is the command, and ends as the program ends.
#pragma once

#include <string>

namespace sonde::record {

// The launcher of software GPUs that is installed beside this tool; "" if there is none.
std::string softgpu_launcher();

// Whether the file is that launcher.
bool is_softgpu(const std::string& file);

}  // namespace sonde::record
