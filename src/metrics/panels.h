// Tables of metrics of a workload: the definitions evaluated. Used by sol/report.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/definitions.h"
#include "metrics/evaluate.h"
#include "metrics/workload/folder.h"
#include "metrics/workload/workload.h"

namespace sonde::metrics {

struct PanelRow {
  std::string id;    // "2.1.4"
  std::string name;  // of the metric; of a channel its number
  std::string unit;  // "Req per kernel"
  // One for each column; nullopt: a counter is missing, or a time or another divisor is zero.
  std::vector<std::optional<double>> figures;
};

struct Panel {
  const MetricTable* table = nullptr;
  std::vector<std::string> columns;  // "Avg", "Min" ... as people read them
  std::vector<PanelRow> rows;

  bool is_empty() const;  // no row has a figure
};

// What a metric says as one figure: the first of its table's.
std::optional<double> figure_of(const Metric& metric, Statistics statistics, Evaluator& evaluator);

Panel panel_of(const MetricTable& table, const Workload& workload, const std::string& per,
               Evaluator& evaluator);

// The counters that tables need, and what is always needed: those of shared formulas.
Names wanted_names(const Definitions& definitions, const std::vector<const MetricTable*>& tables);

}  // namespace sonde::metrics
