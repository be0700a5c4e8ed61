// Live files: what changes in a GPU's sysfs folder while it works. Their text is a function of the
// configuration and the load, generated each time such a file is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"

namespace softgpu {

// The load of one GPU, from all processes.
struct GpuLoad {
  double busy = 0, memory_busy = 0;  // 0..1
  uint64_t vram_used_bytes = 0, gtt_used_bytes = 0;
};

// Names relative to the GPU's PCI folder; a hwmon file is "hwmon/NAME".
std::span<const std::string_view> live_files();
// `name` is one of live_files(); the result is the file's whole content.
std::string live_text(std::string_view name, const GpuConfig& gpu, const GpuLoad& load);

}  // namespace softgpu
