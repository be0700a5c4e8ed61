// How long a step takes, which its time on the host does not tell where the host launches steps
// long before the GPU works on them. Used by steps, check and diff.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

struct StepPace {
  // The median time on the host; where the host runs ahead the mean of the host or the GPU,
  // whichever is longer.
  int64_t ns = 0;
  // In the median, the GPU works on a step half as long again as the host.
  bool host_runs_ahead = false;
};

// Of steps of one process: their times on the host, and of the busiest GPU.
StepPace step_pace(std::vector<int64_t> host_ns, std::vector<int64_t> gpu_ns);

// How long the busiest GPU worked on each of so many steps; `step_of` is of trace::step_of_ops().
std::vector<int64_t> gpu_time_of_steps(const trace::Trace& trace,
                                       const std::vector<trace::Row>& step_of, size_t steps);

}  // namespace sonde::analysis
