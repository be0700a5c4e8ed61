// Tree: the files of /sys, /dev and /proc by which ROCm finds the GPUs of a Config, written below a
// folder that stands for the machine's root. Written once by the launcher; what changes while the
// GPUs work is answered by the driver (live.h).
#pragma once

#include <string>

#include "base/result.h"
#include "config/config.h"

namespace softgpu {

// `root` must be there; the configuration itself is stored in it too.
sonde::Status write_tree(const Config& config, const std::string& root);

}  // namespace softgpu
