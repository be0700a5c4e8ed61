// gpu_metrics: the table of values that the amdgpu driver shows as a binary file, in each of its
// published versions. What a version or a card has no value for is not there.
#pragma once

#include <optional>
#include <string_view>

namespace sonde::monitor {

struct GpuMetrics {
  std::optional<double> busy_percent, mem_busy_percent, media_percent;
  std::optional<double> power_w;
  std::optional<double> edge_c, junction_c, memory_c;
  std::optional<double> sclk_mhz, mclk_mhz;
  std::optional<double> throttle;  // the driver's bits
};

// nullopt: too short, or of a version that is not known.
std::optional<GpuMetrics> parse_gpu_metrics(std::string_view table);
// Which versions are known, for a message.
const char* gpu_metrics_versions();

}  // namespace sonde::monitor
