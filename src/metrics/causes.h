// Why a hot kernel takes as long as it does, as far as its counters show, and which share of its
// time that may cost. Used by the findings of `sonde check`.
#pragma once

#include <string>
#include <vector>

#include "metrics/definitions.h"
#include "metrics/workload/workload.h"

namespace sonde::metrics {

enum class CauseKind {
  kSmallLaunch,
  kBankConflicts,
  kUncoalesced,
  kLowOccupancy,
  kLatency,
  kL2Misses,
  kMemory
};

struct Cause {
  CauseKind kind = CauseKind::kLatency;
  std::string kernel;
  double saved = 0;      // the share of its time that could go
  std::string evidence;  // a phrase with the metrics that it rests on
};

// The causes for the kernels that take most of the time, at most `most`: for each the first that
// applies, in the order above. A kernel near the peak of its instructions, and one without the
// counters that would show it, has none.
std::vector<Cause> causes_of(const Definitions& definitions, const Workload& workload,
                             size_t most = 10);

}  // namespace sonde::metrics
