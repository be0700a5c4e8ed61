// Tree: the files of /sys, /dev and /proc by which ROCm finds the GPUs of a Config, written below a
// folder that stands for the machine's root. Written once by the launcher; the driver provides what
// changes while the GPUs work (live.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "tree/live.h"

namespace softgpu {

// `root` must exist; the configuration is stored in it, too.
sonde::Status write_tree(const Config& config, const std::string& root);

// Updates the live files of a tree for readers outside the session. A file keeps its inode and a
// number its width, so a reader that keeps the file open always reads a whole value.
void publish_live_files(const Config& config, const std::string& folder,
                        const std::function<GpuLoad(uint32_t gpu)>& load);

}  // namespace softgpu
