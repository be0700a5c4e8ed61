#include "metrics/workload/workload.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sonde::metrics {
namespace {

CounterTable only_rows(const CounterTable& table, const std::vector<bool>& keep) {
  CounterTable result;
  for (const auto& [name, column] : table.columns) {
    auto kept = std::make_shared<std::vector<double>>();
    for (size_t i = 0; i < column->size() && i < keep.size(); ++i) {
      if (keep[i]) kept->push_back((*column)[i]);
    }
    result.columns[name] = std::move(kept);
  }
  return result;
}

}  // namespace

const Column* CounterTable::find(std::string_view name) const {
  const auto found = columns.find(name);
  return found == columns.end() ? nullptr : &found->second;
}

Workload only_rows(const Workload& workload, const std::vector<bool>& keep) {
  Workload result;
  result.path = workload.path;
  result.gpu = workload.gpu;
  result.model = workload.model;
  result.facts = workload.facts;
  result.roofs = workload.roofs;
  result.warnings = workload.warnings;
  result.on_softgpu = workload.on_softgpu;
  for (size_t i = 0; i < workload.rows(); ++i) {
    if (!keep[i]) continue;
    result.kernels.push_back(workload.kernels[i]);
    result.dispatches.push_back(workload.dispatches[i]);
    result.gpus.push_back(workload.gpus[i]);
  }
  result.main = only_rows(workload.main, keep);
  for (const auto& [name, table] : workload.passes) result.passes[name] = only_rows(table, keep);
  return result;
}

std::vector<double> durations(const Workload& workload) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> result(workload.rows(), unknown);
  const Column* start = workload.main.find("Start_Timestamp");
  const Column* end = workload.main.find("End_Timestamp");
  if (start == nullptr || end == nullptr) return result;
  for (size_t i = 0; i < result.size(); ++i) result[i] = (**end)[i] - (**start)[i];
  return result;
}

std::vector<KernelRows> by_kernel(const Workload& workload) {
  const std::vector<double> times = durations(workload);
  std::vector<KernelRows> kernels;
  std::map<std::string_view, size_t> index;
  for (size_t i = 0; i < workload.rows(); ++i) {
    const auto [at, is_new] = index.emplace(workload.kernels[i], kernels.size());
    if (is_new) kernels.push_back({workload.kernels[i], {}, 0});
    KernelRows& kernel = kernels[at->second];
    kernel.rows.push_back(i);
    if (!std::isnan(times[i])) kernel.total_ns += times[i];
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelRows& a, const KernelRows& b) {
    return a.total_ns > b.total_ns;
  });
  return kernels;
}

}  // namespace sonde::metrics
