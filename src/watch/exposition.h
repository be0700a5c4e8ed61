// A snapshot as Prometheus reads it (text format 0.0.4), under the names that dashboards of three
// other exporters ask for, so that these go on working.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "watch/snapshot.h"

namespace sonde::watch {

enum class Naming {
  kOmnistat,  // rocm_utilization_percentage{card="0"}, and what Sonde alone knows as sonde_*
  kDme,       // AMD's device metrics exporter: gpu_gfx_activity{gpu_id="0",...}
  kDcgm       // NVIDIA's: DCGM_FI_DEV_GPU_UTIL{gpu="0",...}
};

std::optional<Naming> naming_of(std::string_view text);

// Processes with the most memory have series of their own; the others are one, so that a node has a
// bounded number of series whatever runs on it.
constexpr size_t kMostProcessSeries = 256;

// What is not known has no series. `host` is the node's name.
std::string exposition(const Snapshot& snapshot, Naming naming, const std::string& host);

}  // namespace sonde::watch
