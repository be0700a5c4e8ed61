#include "analysis/perf/models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace sonde::analysis {

const char* work_kind_name(WorkKind kind) {
  constexpr const char* kNames[] = {"gemm",          "convolution", "attention",
                                    "normalisation", "reduction",   "elementwise"};
  return kNames[static_cast<size_t>(kind)];
}

const PerfModel* find_perf_model(std::string_view name) {
  static const auto kByName = [] {
    std::map<std::string, PerfModel, std::less<>> by_name;
    for (const auto& models : {gemm_models(), convolution_models(), attention_models(),
                               normalisation_models(), reduction_models(), elementwise_models()}) {
      for (const PerfModel& model : models) by_name.emplace(model.name, model);
    }
    return by_name;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : &found->second;
}

Estimate estimate_of(std::optional<int64_t> flops, std::optional<int64_t> bytes, std::string shape,
                     const ElementType* type) {
  if (!flops || !bytes) return Estimate::none(kTooLarge);
  return {Work{*flops, *bytes, std::move(shape), type}, nullptr};
}

std::string extents(std::span<const int64_t> sizes) {
  return sizes.empty() ? "1" : fmt::format("{}", fmt::join(sizes, "x"));
}

}  // namespace sonde::analysis
