#include "metrics/panels.h"

#include <fmt/format.h>

#include <cmath>

namespace sonde::metrics {
namespace {

constexpr int kMostChannels = 4096;

std::optional<double> finite(std::optional<double> number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::vector<std::string> columns_of(Statistics statistics) {
  switch (statistics) {
    case Statistics::kMean:
      return {"Avg"};
    case Statistics::kMeanPeak:
      return {"Avg", "Peak", "Pct of Peak"};
    case Statistics::kRounded:
      return {"Value"};
    case Statistics::kMeanMinMax:
      return {"Avg", "Min", "Max"};
    case Statistics::kMeanDeviation:
      return {"Avg", "Std Dev", "Min", "Max"};
    case Statistics::kBox:
      return {"Min", "Q1", "Median", "Q3", "Max"};
  }
  return {};
}

std::optional<double> rounded(std::optional<double> number) {
  return number ? std::optional(std::nearbyint(*number)) : std::nullopt;
}

std::vector<std::optional<double>> figures_of(Statistics statistics, const Value& each,
                                              const Value& peak) {
  switch (statistics) {
    case Statistics::kMean:
      return {mean_of(each)};
    case Statistics::kRounded:
      return {rounded(mean_of(each))};
    case Statistics::kMeanMinMax:
      return {mean_of(each), min_of(each), max_of(each)};
    case Statistics::kMeanDeviation:
      return {mean_of(each), deviation_of(each), min_of(each), max_of(each)};
    case Statistics::kBox:
      return {min_of(each), quantile_of(each, 0.25), quantile_of(each, 0.5),
              quantile_of(each, 0.75), max_of(each)};
    case Statistics::kMeanPeak:
      break;
  }
  const auto mean = mean_of(each);
  const auto most = mean_of(peak);
  const auto share = mean && most ? std::optional(100 * *mean / *most) : std::nullopt;
  return {mean, most, share};
}

std::string unit_of(const Metric& metric, const std::string& per) {
  std::string unit = metric.unit;
  if (!unit.empty() && unit.back() == '$') unit = unit.substr(0, unit.size() - 1) + per;
  return unit;
}

void add_channels(const MetricTable& table, const Workload& workload, Evaluator& evaluator,
                  Panel& panel) {
  const auto fact = workload.facts.find("total_l2_chan");
  const double known = fact == workload.facts.end() ? 0 : fact->second;
  const int channels = known >= 0 && known <= kMostChannels ? static_cast<int>(known) : 0;
  const bool is_box = table.statistics == Statistics::kBox;
  for (int channel = 0; channel < channels; ++channel) {
    PanelRow row;
    row.id = fmt::format("{}.{}", table.id, channel);
    row.name = std::to_string(channel);
    for (const Metric& metric : table.metrics) {
      const Value each = evaluator.evaluate(metric.each, metric.pass, channel);
      for (const auto& figure : figures_of(table.statistics, each, {})) {
        row.figures.push_back(finite(figure));
      }
    }
    panel.rows.push_back(std::move(row));
  }
  if (is_box) return;
  panel.columns.clear();
  for (const Metric& metric : table.metrics) panel.columns.push_back(metric.name);
}

void add_names(const Definitions& definitions, const Expression& expression, Names& names,
               Names& variables) {
  for (std::string& counter : expression.names(Op::kCounter)) {
    for (const auto& [new_part, old_part] : definitions.renamed) {
      if (counter.compare(0, new_part.size(), new_part) == 0) {
        names.insert(old_part + counter.substr(new_part.size()));
      }
    }
    names.insert(std::move(counter));
  }
  for (const std::string& name : expression.names(Op::kVariable)) {
    if (!variables.insert(name).second) continue;
    if (const auto found = definitions.variables.find(name); found != definitions.variables.end()) {
      add_names(definitions, found->second.formula, names, variables);
    }
  }
}

}  // namespace

bool Panel::is_empty() const {
  for (const PanelRow& row : rows) {
    for (const auto& figure : row.figures) {
      if (figure) return false;
    }
  }
  return true;
}

std::optional<double> figure_of(const Metric& metric, Statistics statistics, Evaluator& evaluator) {
  const Value each = evaluator.evaluate(metric.each, metric.pass);
  const auto mean = finite(mean_of(each));
  return statistics == Statistics::kRounded ? rounded(mean) : mean;
}

Panel panel_of(const MetricTable& table, const Workload& workload, const std::string& per,
               Evaluator& evaluator) {
  Panel panel;
  panel.table = &table;
  panel.columns = columns_of(table.statistics);
  if (table.per_channel) {
    add_channels(table, workload, evaluator, panel);
    return panel;
  }
  for (const Metric& metric : table.metrics) {
    PanelRow row{metric.id, metric.name, unit_of(metric, per), {}};
    const Value each = evaluator.evaluate(metric.each, metric.pass);
    const Value peak = evaluator.evaluate(metric.peak, metric.pass);
    for (const auto& figure : figures_of(table.statistics, each, peak)) {
      row.figures.push_back(finite(figure));
    }
    panel.rows.push_back(std::move(row));
  }
  return panel;
}

Names wanted_names(const Definitions& definitions, const std::vector<const MetricTable*>& tables) {
  Names names = {"GRBM_GUI_ACTIVE"};
  Names variables;
  for (const MetricTable* table : tables) {
    for (const Metric& metric : table->metrics) {
      if (!metric.pass.empty()) names.insert(metric.pass + "_ACCUM");
      add_names(definitions, metric.each, names, variables);
      add_names(definitions, metric.peak, names, variables);
    }
  }
  for (const auto& [name, formula] : definitions.per) {
    add_names(definitions, formula, names, variables);
  }
  for (const auto& [name, variable] : definitions.variables) {
    add_names(definitions, variable.formula, names, variables);
  }
  return names;
}

}  // namespace sonde::metrics
