#include "metrics/kernel_figures.h"

#include <fmt/format.h>

#include "metrics/panels.h"

namespace sonde::metrics {
namespace {

const std::vector<Resource>& resources() {
  static const std::vector<Resource> kResources = {
      {"memory bandwidth", {"L2-Fabric Read BW", "L2-Fabric Write BW"}},
      {"L2 bandwidth", {"L2 Cache BW"}},
      {"L1 bandwidth", {"vL1D Cache BW"}},
      {"LDS bandwidth", {"Theoretical LDS Bandwidth"}},
      {"vector instructions", {"VALU Utilization"}},
      {"matrix instructions", {"MFMA Utilization"}}};
  return kResources;
}

}  // namespace

std::optional<double> KernelFigures::mean(const char* name) {
  const Metric* metric = definitions_.find(name);
  if (metric == nullptr) return std::nullopt;
  return figure_of(*metric, Statistics::kMean, evaluator_);
}

std::optional<double> KernelFigures::share(const char* name) {
  const Metric* metric = definitions_.find(name);
  const auto value = mean(name);
  if (!value) return std::nullopt;
  const auto peak = mean_of(evaluator_.evaluate(metric->peak, metric->pass));
  return peak && *peak > 0 ? std::optional(100 * *value / *peak) : std::nullopt;
}

std::string KernelFigures::id(const char* name) const {
  const Metric* metric = definitions_.find(name);
  return metric == nullptr ? "" : metric->id;
}

std::optional<double> KernelFigures::column(const char* name) {
  const Column* column = evaluator_.counter(name, "");
  return column == nullptr ? std::nullopt : mean_of(Value{Value::Kind::kColumn, 0, *column});
}

std::optional<double> KernelFigures::fact(const char* name) {
  return mean_of(evaluator_.variable(name, ""));
}

std::optional<Use> highest_use(KernelFigures& figures) {
  std::optional<Use> best;
  for (const Resource& resource : resources()) {
    double percent = 0;
    bool is_known = true;
    for (const char* metric : resource.metrics) {
      const auto share = figures.share(metric);
      is_known = is_known && share.has_value();
      percent += share.value_or(0);
    }
    if (is_known && (!best || percent > best->percent)) best = Use{&resource, percent};
  }
  return best;
}

std::string ids_of(const Resource& resource, const KernelFigures& figures) {
  std::vector<std::string> ids;
  for (const char* metric : resource.metrics) ids.push_back(figures.id(metric));
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace sonde::metrics
