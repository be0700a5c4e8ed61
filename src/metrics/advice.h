// What bounds each hot kernel, how far it is from that bound, and what to try: three sentences that
// name the metrics they rest on. Used by `sonde sol`.
#pragma once

#include <string>
#include <vector>

#include "metrics/definitions.h"
#include "metrics/panels.h"
#include "metrics/workload/workload.h"
#include "report/report.h"

namespace sonde::metrics {

struct Advice {
  std::string kernel;
  double share = 0;   // of the time of all dispatches, 0 to 1
  std::string bound;  // "memory bandwidth" ...; "unknown" if the counters do not show it
  std::optional<double> of_bound;  // per cent of what that resource can do
  std::string why, distance, attempt;
  std::vector<const char*> rests_on;  // the counters behind `bound`
  std::string trust;  // of counters of a software GPU: "exact counts" or "modelled counts"
};

// The kernels that take most of the time, at most `most`.
std::vector<Advice> advice_of(const Definitions& definitions, const Workload& workload,
                              size_t most = 5);
report::Section advice_section(const std::vector<Advice>& advice);
// The columns beside the metrics that it needs.
Names advice_names(const Definitions& definitions);

}  // namespace sonde::metrics
