#include "metrics/kernel_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "metrics/collect/catalogue.h"
#include "metrics/panels.h"

namespace sonde::metrics {
namespace {

constexpr const char* kMemory = "memory bandwidth";
constexpr const char* kVector = "vector instructions";

const std::vector<Resource>& resources() {
  static const std::vector<Resource> kResources = {
      {kMemory,
       {"L2-Fabric Read BW", "L2-Fabric Write BW"},
       {"TCC_EA_RDREQ", "TCC_EA_RDREQ_32B", "TCC_EA_WRREQ", "TCC_EA_WRREQ_64B"}},
      {kL2Bandwidth, {}, {"TCC_REQ"}},
      {"L1 bandwidth", {"vL1D Cache BW"}, {"TCP_TOTAL_CACHE_ACCESSES"}},
      {kLdsBandwidth, {"Theoretical LDS Bandwidth"}, {"SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT"}},
      {kVector, {"VALU Utilization"}, {"SQ_ACTIVE_INST_VALU"}},
      {"matrix instructions", {"MFMA Utilization"}, {"SQ_VALU_MFMA_BUSY_CYCLES"}}};
  return kResources;
}

// LDS cycles that bank conflicts take are not bandwidth, but nothing else can use them.
const Resource& conflicts() {
  static const Resource kConflicts = {
      kLdsConflicts, {}, {"SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"}};
  return kConflicts;
}

// A channel of the L2 takes a request in a cycle, however many bytes the metric of its bandwidth
// gives to each.
std::optional<double> l2_percent(KernelFigures& figures) {
  const auto requests = figures.column("TCC_REQ_sum"), channels = figures.fact("total_l2_chan");
  const auto cycles = figures.fact("gui_cycles");
  if (!requests || !channels || !cycles || *channels * *cycles <= 0) return std::nullopt;
  return 100 * *requests / (*channels * *cycles);
}

std::optional<double> percent_of(const Resource& resource, KernelFigures& figures) {
  if (resource.bound == std::string_view(kL2Bandwidth)) return l2_percent(figures);
  double percent = 0;
  for (const char* metric : resource.metrics) {
    const auto share = figures.share(metric);
    if (!share) return std::nullopt;
    percent += *share;
  }
  return percent;
}

// All cycles of the LDS, under the name of what takes most of them.
Use lds_use(const Resource& resource, double percent, KernelFigures& figures) {
  const auto lost = figures.column("SQ_LDS_BANK_CONFLICT"), cycles = figures.fact("cu_cycles");
  if (!lost || !cycles || *cycles <= 0) return {&resource, percent};
  const double of_conflicts = 100 * *lost / *cycles;
  return {of_conflicts > percent ? &conflicts() : &resource, percent + of_conflicts};
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
  std::vector<const char*> not_measured;
  for (const Resource& resource : resources()) {
    const auto percent = percent_of(resource, figures);
    const bool is_common =
        resource.bound == std::string_view(kMemory) || resource.bound == std::string_view(kVector);
    if (!percent && is_common) not_measured.push_back(resource.bound);
    if (!percent) continue;
    Use use{&resource, *percent};
    if (resource.bound == std::string_view(kLdsBandwidth)) {
      use = lds_use(resource, *percent, figures);
    }
    if (!best || use.percent > best->percent) best = use;
  }
  if (best) best->not_measured = std::move(not_measured);
  return best;
}

std::string evidence_of(const Resource& resource, const KernelFigures& figures) {
  std::vector<std::string> ids;
  for (const char* metric : resource.metrics) ids.push_back(figures.id(metric));
  if (!ids.empty()) return fmt::format("metric {}", fmt::join(ids, ", "));
  return fmt::format("counter {}", resource.counters.front());
}

std::vector<std::string> modelled_counters(const std::vector<const char*>& counters) {
  std::vector<std::string> modelled;
  const auto catalogue = counter_catalogue();
  if (!catalogue.ok()) return modelled;
  for (const char* name : counters) {
    const CounterInfo* counter = catalogue->find(name);
    if (counter != nullptr && counter->softgpu == "modelled") modelled.emplace_back(name);
  }
  return modelled;
}

}  // namespace sonde::metrics
