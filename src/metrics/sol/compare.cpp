#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/strings.h"
#include "metrics/sol/report.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
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

// The time of each kernel in each of the runs; nothing where it did not run or has no times.
using KernelTimes = std::map<std::string, std::vector<std::optional<double>>>;

KernelTimes kernel_times(const std::vector<Workload>& workloads) {
  KernelTimes times;
  for (size_t i = 0; i < workloads.size(); ++i) {
    for (const KernelRows& kernel : by_kernel(workloads[i])) {
      auto& row = times[kernel.name];
      row.resize(workloads.size());
      if (kernel.total_ns > 0) row[i] = kernel.total_ns;
    }
  }
  return times;
}

// How much longer a kernel takes than in the first run; one that is missing takes no time.
double change_ns(const std::vector<std::optional<double>>& times, size_t which) {
  return times[which].value_or(0) - times[0].value_or(0);
}

// The kernel that the change of the whole comes from, if one has half of it.
std::string main_kernel(const KernelTimes& times, size_t which) {
  double all = 0;
  const KernelTimes::value_type* largest = nullptr;
  for (const auto& kernel : times) {
    const double change = change_ns(kernel.second, which);
    all += change;
    const bool is_larger =
        largest == nullptr || std::abs(change) > std::abs(change_ns(largest->second, which));
    if (is_larger) largest = &kernel;
  }
  const double change = largest == nullptr ? 0 : change_ns(largest->second, which);
  if (all == 0 || change / all < 0.5) return "";
  return fmt::format("; {} takes {} {}", largest->first,
                     format_duration(std::llround(std::abs(change))), change < 0 ? "less" : "more");
}

// Kernel by kernel, those first that changed most in some run.
report::Section kernels_section(const KernelTimes& times, size_t runs) {
  report::Section section;
  section.key = "kernels";
  section.title = "Kernels";
  section.table.add_column({"name", "Kernel", Kind::kName});
  section.table.add_column({"baseline_ns", "Baseline", Kind::kTime});
  for (size_t i = 1; i < runs; ++i) {
    section.table.add_column({fmt::format("run{}_ns", i), fmt::format("Run {}", i), Kind::kTime});
    section.table.add_column({fmt::format("run{}_change", i), "Change", Kind::kPercent});
  }
  const auto largest = [&](const KernelTimes::value_type& kernel) {
    double most = 0;
    for (size_t i = 1; i < runs; ++i) {
      most = std::max(most, std::abs(change_ns(kernel.second, i)));
    }
    return most;
  };
  std::vector<const KernelTimes::value_type*> order;
  for (const auto& kernel : times) order.push_back(&kernel);
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return largest(*a) > largest(*b); });
  const auto time_value = [](const std::optional<double>& ns) {
    return ns ? report::Value(static_cast<int64_t>(std::llround(*ns))) : report::Value();
  };
  for (const auto* kernel : order) {
    const auto& ns = kernel->second;
    std::vector<report::Value> row = {kernel->first, time_value(ns[0])};
    for (size_t i = 1; i < runs; ++i) {
      row.push_back(time_value(ns[i]));
      row.push_back(ns[0] && ns[i] ? report::Value(100 * (*ns[i] - *ns[0]) / *ns[0])
                                   : report::Value());
    }
    section.table.add_row(std::move(row));
  }
  return section;
}

std::string verdict(const std::vector<Workload>& workloads, const KernelTimes& times, size_t which,
                    const Change& largest) {
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
    if (std::abs(change) >= 1) text += main_kernel(times, which);
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
  report::Section section{.key = "comparison"};
  section.table.add_columns({text("id", "Id"), text("metric", "Metric"), text("unit", "Unit"),
                             real("baseline", "Baseline")});
  std::vector<Evaluator> evaluators;
  for (size_t i = 0; i < workloads.size(); ++i) {
    evaluators.emplace_back(definitions[i], workloads[i], options.per);
    for (const std::string& warning : workloads[i].warnings) {
      report.warnings.push_back(workloads[i].path + ": " + warning);
    }
    if (i == 0) continue;
    section.table.add_columns({real(fmt::format("run{}", i), fmt::format("Run {}", i)),
                               percent(fmt::format("run{}_change", i), "Change")});
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
        std::optional<double> now;
        if (other != nullptr) now = figure_of(*other, table->statistics, evaluators[i]);
        is_known = is_known || now.has_value();
        row.push_back(now ? report::Value(*now) : report::Value());
        if (!base || !now || *base == 0) {
          row.emplace_back();
          continue;
        }
        const double change = 100 * (*now - *base) / std::abs(*base);
        row.emplace_back(change);
        if (std::abs(change) > std::abs(largest[i].percent)) {
          largest[i] = {metric.name + " (" + metric.id + ")", change};
        }
      }
      if (is_known || options.keep_empty) section.table.add_row(std::move(row));
    }
  }
  const KernelTimes times = kernel_times(workloads);
  for (size_t i = 1; i < workloads.size(); ++i) {
    section.remarks.push_back(verdict(workloads, times, i, largest[i]));
  }
  report.sections.push_back(std::move(section));
  report.sections.push_back(kernels_section(times, workloads.size()));
  return report;
}

}  // namespace sonde::metrics
