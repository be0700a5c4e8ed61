// What in a trace is worth a person's time: rules over the figures of the other analyses, each with
// its evidence and what to try. Used by `sonde check`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Finding {
  std::string id;        // "launch-bound": what --fail-on names
  std::string title;     // one sentence
  std::string evidence;  // the figures behind it
  std::string advice;    // what to try, and the command that shows more
  int64_t cost_ns = 0;   // time of GPUs at stake; of CPUs in a trace without operations
  int64_t wall_ns = 0;   // of all GPUs, or of what the rule says: what shares are of
  double wall_percentage() const {
    return wall_ns == 0 ? 0 : 100.0 * static_cast<double>(cost_ns) / static_cast<double>(wall_ns);
  }
};

// The ids that there are.
std::vector<std::string> finding_ids();

// Those that cost at least `least_percentage` of the time, the dearest first.
std::vector<Finding> findings_of(const trace::Trace& trace, double least_percentage);

trace::Request findings_needs();
report::Report findings_report(const trace::Trace& trace, const std::vector<Finding>& findings);
std::string findings_definition();

}  // namespace sonde::analysis
