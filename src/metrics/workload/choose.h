// Some of the dispatches of a workload. Used by `sonde sol` and `sonde roofline`, and the page.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "metrics/workload/workload.h"
#include "trace/name_filter.h"

namespace sonde::metrics {

struct DispatchChoice {
  trace::NameFilter kernels;
  std::optional<int64_t> gpu;                           // as the file numbers it
  std::vector<std::pair<int64_t, int64_t>> dispatches;  // ranges of their numbers; empty: all
};

// Fails where nothing is left.
Result<Workload> chosen_dispatches(const DispatchChoice& choice, Workload workload);

}  // namespace sonde::metrics
