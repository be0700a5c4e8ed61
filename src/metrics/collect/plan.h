// Which counters are read in which run of a program. Used by `sonde profile`.
//
// A block of the GPU counts a few things at a time, so many counters take several runs (passes).
// The same wishes always give the same plan: counters go to the first pass with room in their
// block, in the order of counters.ini. A level that is added up over cycles takes a pass of its
// own.
#pragma once

#include <string>
#include <vector>

#include "metrics/collect/catalogue.h"
#include "metrics/workload/folder.h"

namespace sonde::metrics {

struct PlannedCounter {
  std::string name;  // as it is recorded
  const CounterInfo* counter;
};
using Pass = std::vector<PlannedCounter>;

struct Plan {
  std::vector<Pass> passes;
  std::vector<std::string> missing;  // wished for, but the GPUs do not count them
  std::vector<std::string> dropped;  // left out for a single pass
  std::string reason;                // why there are so many passes
};

struct PlanOptions {
  std::vector<std::string> gpus;  // "gfx90a"; a counter that any of them has is wanted
  bool softgpu = false;           // the GPUs are software
  bool single_pass = false;
};

// The counter behind a name of a formula: "TCC_HIT_sum", "TCC_HIT[3]", "SQ_LEVEL_WAVES_ACCUM".
// nullptr: it is none.
const CounterInfo* counter_behind(const Catalogue& catalogue, std::string_view name);

Plan plan_passes(const Catalogue& catalogue, const Names& wanted, const PlanOptions& options);

// The counters that a set needs on a GPU: sol, memory, roofline, launch, all.
Result<Names> names_of_set(const std::string& set, const std::string& gpu);

// The request of a pass to the recording, numbered from 1 (counter_request.h of the HSA backend).
std::string request_of(const Plan& plan, size_t pass);

}  // namespace sonde::metrics
