// A snapshot in Prometheus' text format 0.0.4, with the metric names of three other exporters, so
// that their dashboards keep working.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "watch/snapshot.h"

namespace sonde::watch {

enum class Naming {
  kOmnistat,  // rocm_utilization_percentage{card="0"}; metrics only Sonde has are sonde_*
  kDme,       // AMD's device metrics exporter: gpu_gfx_activity{gpu_id="0",...}
  kDcgm       // NVIDIA's: DCGM_FI_DEV_GPU_UTIL{gpu="0",...}
};

std::optional<Naming> naming_of(std::string_view text);

// The processes with the most memory have series of their own; the others share one, so that the
// number of series per node is bounded.
constexpr size_t kMostProcessSeries = 256;

// Unknown values have no series. `host` is the node's name.
std::string exposition(const Snapshot& snapshot, Naming naming, const std::string& host);

}  // namespace sonde::watch
