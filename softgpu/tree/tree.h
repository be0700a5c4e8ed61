// Tree: the files of /sys, /dev and /proc by which ROCm finds the GPUs of a Config, written below a
// folder that stands for the machine's root. Written once by the launcher; what changes while the
// GPUs work is answered by the driver (live.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "tree/live.h"

namespace softgpu {

// `root` must be there; the configuration itself is stored in it too.
sonde::Status write_tree(const Config& config, const std::string& root);

// Brings the live files of a tree up to date, for readers outside of the session. A file keeps its
// inode, and a number its width, so that one who keeps it open always reads a whole value.
void publish_live_files(const Config& config, const std::string& folder,
                        const std::function<GpuLoad(uint32_t gpu)>& load);

}  // namespace softgpu
