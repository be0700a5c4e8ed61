#include "metrics/sol/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/letters.h"
#include "metrics/advice.h"
#include "metrics/memory_chart.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
using report::Kind;

// "Pct of Peak" -> "pct_of_peak".
std::string key_of(std::string_view title) {
  std::string key;
  for (const char c : title) {
    if (is_alphanumeric(c)) {
      key += lower(c);
    } else if (!key.empty()) {
      key += '_';
    }
  }
  return key;
}

report::Value value_of(std::optional<double> number) {
  return number ? report::Value(*number) : report::Value();
}

// A bar for each metric that has a share of a peak.
report::Chart bars_of(const Panel& panel) {
  report::Chart chart;
  chart.key = "sol_" + key_of(panel.table->title);
  chart.title = panel.table->title + ": of peak";
  chart.x = {"Of peak", Kind::kPercent};
  report::Series series;
  series.name = "of peak";
  for (const PanelRow& row : panel.rows) {
    if (!row.figures.back()) continue;
    chart.rows.push_back(row.name);
    series.values.push_back(*row.figures.back());
  }
  chart.series.push_back(std::move(series));
  return chart;
}

report::Section section_of(const Panel& panel) {
  report::Section section{.key = panel.table->id,
                          .title = panel.table->id + " " + panel.table->title};
  report::Table& table = section.table;
  table.add_columns(
      {text("id", "Id"), text("metric", panel.table->per_channel ? "Channel" : "Metric")});
  for (size_t i = 0; i < panel.columns.size(); ++i) {
    const bool is_share = panel.columns[i] == "Pct of Peak";
    const std::string key = is_share ? "pct_of_peak" : key_of(panel.columns[i]);
    table.add_column(
        {key, is_share ? "Of peak" : panel.columns[i], is_share ? Kind::kPercent : Kind::kReal});
    if (i == 0 && !panel.table->per_channel) table.add_column(text("unit", "Unit"));
  }
  for (const PanelRow& row : panel.rows) {
    std::vector<report::Value> cells = {row.id, row.name};
    for (size_t i = 0; i < row.figures.size(); ++i) {
      cells.push_back(value_of(row.figures[i]));
      if (i == 0 && !panel.table->per_channel) cells.push_back(row.unit);
    }
    table.add_row(std::move(cells));
  }
  const bool has_shares = panel.table->statistics == Statistics::kMeanPeak;
  if (has_shares && !panel.is_empty()) section.charts.push_back(bars_of(panel));
  if (section.charts.size() == 1 && section.charts[0].rows.empty()) section.charts.clear();
  if (panel.table->id == "3.1") section.diagrams.push_back(memory_chart_of(panel));
  return section;
}

report::Section kernels_section(const Workload& workload) {
  report::Section section{.key = "kernels", .title = "Kernels"};
  report::Table& table = section.table;
  table.add_columns({name("name", "Kernel"), integer("dispatches", "Dispatches"),
                     time("total_ns", "Total"), time("mean_ns", "Mean"),
                     percent("share", "Share")});
  const std::vector<KernelRows> kernels = by_kernel(workload);
  double total = 0;
  for (const KernelRows& kernel : kernels) total += kernel.total_ns;
  for (const KernelRows& kernel : kernels) {
    const auto count = static_cast<int64_t>(kernel.rows.size());
    const auto ns = static_cast<int64_t>(kernel.total_ns);
    // A file whose times were rounded away has none.
    const bool has_times = kernel.total_ns > 0;
    table.add_row({kernel.name, count, has_times ? report::Value(ns) : report::Value(),
                   has_times ? report::Value(ns / count) : report::Value(),
                   total > 0 ? report::Value(100 * kernel.total_ns / total) : report::Value()});
  }
  return section;
}

void add_time_note(const Workload& workload, report::Report& report) {
  const std::vector<double> times = durations(workload);
  const auto without =
      std::count_if(times.begin(), times.end(), [](double ns) { return !(ns > 0); });
  if (without == 0) return;
  report.notes.push_back(fmt::format(
      "{} of {} dispatches have no time, or one of zero: their rates per second are not available",
      without, times.size()));
}

std::string gpu_of(const Workload& workload) {
  return workload.model.empty() ? workload.gpu : workload.model + " (" + workload.gpu + ")";
}

bool starts_panel(const std::string& table, const std::string& id) {
  return table == id || (table.size() > id.size() && table.compare(0, id.size(), id) == 0 &&
                         table[id.size()] == '.');
}

}  // namespace

Result<std::vector<const MetricTable*>> chosen_tables(const Definitions& definitions,
                                                      const SolOptions& options) {
  std::vector<std::string> ids = options.panels;
  if (ids.empty() && !options.all) ids = {"2"};
  if (options.panels.empty() && !options.all && options.with_pictures) ids.push_back("3");
  std::vector<const MetricTable*> tables;
  for (const std::string& id : ids) {
    const bool found =
        std::any_of(definitions.tables.begin(), definitions.tables.end(),
                    [&](const MetricTable& table) { return starts_panel(table.id, id); });
    if (found) continue;
    return make_error(ErrorCode::kInvalidArgument, "there is no panel or table '" + id + "'",
                      "--panel", "for example 2, 16 or 16.3; --all shows all of them");
  }
  for (const MetricTable& table : definitions.tables) {
    const bool is_wanted = std::any_of(
        ids.begin(), ids.end(), [&](const std::string& id) { return starts_panel(table.id, id); });
    if ((is_wanted || ids.empty()) && !table.metrics.empty()) tables.push_back(&table);
  }
  return tables;
}

report::Report sol_report(const Definitions& definitions, const Workload& workload,
                          const std::vector<const MetricTable*>& tables,
                          const SolOptions& options) {
  report::Report report;
  report.name = "sol";
  report.subject = workload.path;
  report.warnings = workload.warnings;
  Evaluator evaluator(definitions, workload, options.per);
  std::vector<std::string> empty;
  for (const MetricTable* table : tables) {
    const Panel panel = panel_of(*table, workload, options.per, evaluator);
    if (panel.is_empty() && !options.keep_empty) {
      empty.push_back(table->id + " " + table->title);
    } else {
      report.sections.push_back(section_of(panel));
    }
  }
  report::Section kernels = kernels_section(workload);
  kernels.facts.push_back({"gpu", "GPU", Kind::kText, gpu_of(workload)});
  kernels.facts.push_back(
      {"dispatches", "Dispatches", Kind::kInteger, static_cast<int64_t>(workload.rows())});
  report.sections.push_back(std::move(kernels));
  report.sections.push_back(advice_section(advice_of(definitions, workload)));
  if (!empty.empty()) {
    report.notes.push_back("without any figure, and so left out: " +
                           fmt::format("{}", fmt::join(empty, ", ")));
  }
  add_time_note(workload, report);
  return report;
}

}  // namespace sonde::metrics
