// What `sonde sol` says: tables of metrics of one workload or several, as a report.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/definitions.h"
#include "metrics/panels.h"
#include "metrics/workload/workload.h"
#include "report/report.h"

namespace sonde::metrics {

struct SolOptions {
  std::string per = "kernel";
  // Ids of tables or panels ("2", "17.3"); empty: Speed-of-Light.
  std::vector<std::string> panels;
  bool all = false;
  bool with_pictures = false;  // without other wishes the memory chart, too
  bool keep_empty = false;     // tables without any figure too, for scripts
};

// Those that the options choose. Fails where an id is of no table.
Result<std::vector<const MetricTable*>> chosen_tables(const Definitions& definitions,
                                                      const SolOptions& options);

report::Report sol_report(const Definitions& definitions, const Workload& workload,
                          const std::vector<const MetricTable*>& tables, const SolOptions& options);

// The workloads beside each other: the first is what the others are compared with. Metrics meet by
// table and name, so the GPUs may differ. `tables` are of the first.
report::Report sol_comparison(const std::vector<Definitions>& definitions,
                              const std::vector<Workload>& workloads,
                              const std::vector<const MetricTable*>& tables,
                              const SolOptions& options);

// --explain METRIC: what it is, its formula, and the values that went into it.
Result<report::Report> explain_metric(const Definitions& definitions, const Workload& workload,
                                      const std::string& metric, const SolOptions& options);

}  // namespace sonde::metrics
