#include <fmt/format.h>

#include <cmath>

#include "base/strings.h"
#include "metrics/sol/report.h"

namespace sonde::metrics {
namespace {

using report::Kind;

double total_ns(const Workload& workload) {
  double total = 0;
  for (const double ns : durations(workload)) total += ns > 0 ? ns : 0;
  return total;
}

const Metric* same_metric(const Definitions& definitions, const MetricTable& table,
                          const std::string& name) {
  for (const MetricTable& other : definitions.tables) {
    if (other.id != table.id) continue;
    for (const Metric& metric : other.metrics) {
      if (metric.name == name) return &metric;
    }
  }
  return nullptr;
}

struct Change {
  std::string name;
  double percent = 0;
};

std::string verdict(const std::vector<Workload>& workloads, size_t which, const Change& largest) {
  const double before = total_ns(workloads[0]);
  const double after = total_ns(workloads[which]);
  std::string text = workloads[which].path + ": ";
  if (before > 0 && after > 0) {
    const double change = 100 * (after - before) / before;
    text += std::abs(change) < 1 ? "its kernels take as long"
                                 : fmt::format("its kernels take {:.1f} % {}", std::abs(change),
                                               change < 0 ? "less time" : "more time");
    text += fmt::format(" ({} instead of {})", format_duration(std::llround(after)),
                        format_duration(std::llround(before)));
  } else {
    text += "its times are not known";
  }
  if (!largest.name.empty()) {
    text += fmt::format("; the largest change of a metric is {}: {:+.1f} %", largest.name,
                        largest.percent);
  }
  return text + ".";
}

}  // namespace

report::Report sol_comparison(const std::vector<Definitions>& definitions,
                              const std::vector<Workload>& workloads,
                              const std::vector<const MetricTable*>& tables,
                              const SolOptions& options) {
  report::Report report;
  report.name = "sol";
  report.subject = workloads[0].path;
  report::Section section;
  section.key = "comparison";
  section.table.add_column({"id", "Id", Kind::kText});
  section.table.add_column({"metric", "Metric", Kind::kText});
  section.table.add_column({"unit", "Unit", Kind::kText});
  section.table.add_column({"baseline", "Baseline", Kind::kReal, 2});
  std::vector<Evaluator> evaluators;
  for (size_t i = 0; i < workloads.size(); ++i) {
    evaluators.emplace_back(definitions[i], workloads[i], options.per);
    for (const std::string& warning : workloads[i].warnings) {
      report.warnings.push_back(workloads[i].path + ": " + warning);
    }
    if (i == 0) continue;
    section.table.add_column({fmt::format("run{}", i), fmt::format("Run {}", i), Kind::kReal, 2});
    section.table.add_column({fmt::format("run{}_change", i), "Change", Kind::kPercent, 1});
    section.facts.push_back(
        {fmt::format("run{}_path", i), fmt::format("Run {}", i), Kind::kText, workloads[i].path});
  }
  std::vector<Change> largest(workloads.size());
  for (const MetricTable* table : tables) {
    if (table->per_channel) continue;  // channels of different GPUs are not the same ones
    const Panel panel = panel_of(*table, workloads[0], options.per, evaluators[0]);
    for (size_t m = 0; m < table->metrics.size(); ++m) {
      const Metric& metric = table->metrics[m];
      const auto base = figure_of(metric, table->statistics, evaluators[0]);
      std::vector<report::Value> row = {metric.id, metric.name, panel.rows[m].unit,
                                        base ? report::Value(*base) : report::Value()};
      bool is_known = base.has_value();
      for (size_t i = 1; i < workloads.size(); ++i) {
        const Metric* other = same_metric(definitions[i], *table, metric.name);
        const auto now =
            other == nullptr ? std::nullopt : figure_of(*other, table->statistics, evaluators[i]);
        is_known = is_known || now.has_value();
        row.push_back(now ? report::Value(*now) : report::Value());
        const bool has_change = base && now && *base != 0;
        const double change = has_change ? 100 * (*now - *base) / std::abs(*base) : 0;
        row.push_back(has_change ? report::Value(change) : report::Value());
        if (std::abs(change) > std::abs(largest[i].percent)) {
          largest[i] = {metric.name + " (" + metric.id + ")", change};
        }
      }
      if (is_known || options.keep_empty) section.table.add_row(std::move(row));
    }
  }
  for (size_t i = 1; i < workloads.size(); ++i) {
    section.remarks.push_back(verdict(workloads, i, largest[i]));
  }
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace sonde::metrics
