// What an operator of PyTorch has to compute and to move, from the sizes and types of its inputs.
// One table of operators for each kind of work; extend them, and `sonde perf` follows.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/perf/tensors.h"

namespace sonde::analysis {

enum class WorkKind : uint8_t {
  kGemm,
  kConvolution,
  kAttention,
  kNormalisation,
  kReduction,
  kElementwise
};
constexpr size_t kWorkKinds = 6;
const char* work_kind_name(WorkKind kind);  // "gemm"

struct Work {
  int64_t flops = 0;  // a multiplication and an addition are two
  int64_t bytes = 0;  // each input read once, each result written once
  std::string shape;  // "M=512 N=512 K=64"; equal shapes of an operator have equal work
  const ElementType* type = nullptr;
};

// Work, or why it is not known.
struct Estimate {
  std::optional<Work> work;
  const char* missing = nullptr;
  static Estimate none(const char* why) { return {std::nullopt, why}; }
};

struct PerfModel {
  std::string name;  // "aten::mm"
  WorkKind kind;
  Estimate (*estimate)(std::string_view name, const Inputs& inputs);
  // On matrix units, if the device has some for the type.
  bool uses_matrix_units() const { return kind <= WorkKind::kAttention; }
};

std::vector<PerfModel> gemm_models();
std::vector<PerfModel> convolution_models();
std::vector<PerfModel> attention_models();
std::vector<PerfModel> normalisation_models();
std::vector<PerfModel> reduction_models();
std::vector<PerfModel> elementwise_models();

// The same estimate for each of the operators in `layouts`.
template <typename Layouts>
std::vector<PerfModel> models_of(const Layouts& layouts, WorkKind kind,
                                 Estimate (*estimate)(std::string_view, const Inputs&)) {
  std::vector<PerfModel> models;
  for (const auto& layout : layouts) models.push_back({std::string(layout.name), kind, estimate});
  return models;
}

// The layout of an operator that is in `layouts`.
template <typename Layouts>
const auto& layout_of(const Layouts& layouts, std::string_view name) {
  return *std::find_if(std::begin(layouts), std::end(layouts),
                       [&](const auto& layout) { return layout.name == name; });
}

// The model of an operator; nullptr if there is none.
const PerfModel* find_perf_model(std::string_view name);

// Why sums that do not fit 64 bits, or sizes that contradict each other, give no figures.
inline constexpr const char* kNoSizes = "no sizes recorded";
inline constexpr const char* kNoValues = "no values of arguments recorded";
inline constexpr const char* kOddSizes = "the sizes do not fit each other";
inline constexpr const char* kTooLarge = "the sizes are too large";
inline constexpr const char* kOddType = "no model for this type of element";

// The work if both sums are known.
Estimate estimate_of(std::optional<int64_t> flops, std::optional<int64_t> bytes, std::string shape,
                     const ElementType* type);
// "3x224x224"
std::string extents(std::span<const int64_t> sizes);

}  // namespace sonde::analysis
