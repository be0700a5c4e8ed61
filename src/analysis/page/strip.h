// A strip of the timeline: how busy the GPUs were with what, over time. Used by the page.
#pragma once

#include <map>

#include "analysis/time/gpu_time.h"
#include "report/chart.h"

namespace sonde::analysis {

// The share of the GPUs' time that each category took, in equal parts of the time from their first
// operation to their last; without series if nothing ran.
report::Chart strip_of(const std::map<int64_t, GpuTime>& gpus);

}  // namespace sonde::analysis
