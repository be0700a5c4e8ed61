// Facts of GPUs that formulas ask for (gpus.ini), for traces that only name their GPU. Used by
// workload/trace.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::metrics {

struct GpuFacts {
  std::string model;  // "MI210"
  std::string arch;   // "gfx90a"
  std::vector<std::string> match;
  std::map<std::string, double, std::less<>> facts;  // "cu_per_gpu" ...
};

// Fails on a line that does not describe a GPU; errors name `place`.
Result<std::vector<GpuFacts>> parse_gpu_facts(std::string_view text, const std::string& place);
// "gfx90a" from a name that a driver reports; "" if the name is unknown and does not say it.
std::string architecture_of(std::string_view device);
// The first entry that fits a name that a driver reports, ignoring case.
Result<GpuFacts> gpu_facts_of(std::string_view device);

}  // namespace sonde::metrics
