// Reductions: one operation for each element of the input, 0 for comparisons and integers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

using Sizes = std::vector<int64_t>;

struct Layout {
  std::string_view name;
  int64_t flops;
  size_t whole_inputs;      // the form that reduces all dimensions has so many inputs at most
  int type = -1;            // of the result: an argument of the form with dimensions
  int64_t index_bytes = 0;  // of the places that are a result as well, or the only one
  bool only_index = false;
  bool is_bool = false;
};

constexpr Layout kLayouts[] = {
    {"aten::sum", 1, 2, 3},
    {"aten::mean", 1, 2, 3},
    {"aten::prod", 1, 2, 3},
    {"aten::amax", 0, 0},
    {"aten::amin", 0, 0},
    {"aten::max", 0, 1, -1, 8},
    {"aten::min", 0, 1, -1, 8},
    {"aten::argmax", 0, 1, -1, 8, true},
    {"aten::argmin", 0, 1, -1, 8, true},
    {"aten::all", 0, 1, -1, 0, false, true},
    {"aten::any", 0, 1, -1, 0, false, true},
};

// The elements of the result, with dimensions `over` reduced.
std::optional<int64_t> results_of(const Sizes& sizes, const Sizes& over) {
  Sizes left = sizes;
  for (const int64_t dimension : over) {
    const auto at = dimension < 0 ? dimension + std::ssize(sizes) : dimension;
    if (at < 0 || at >= std::max<std::ptrdiff_t>(1, std::ssize(sizes))) return std::nullopt;
    if (!sizes.empty()) left[static_cast<size_t>(at)] = 1;
  }
  return over.empty() ? 1 : product(left);
}

std::string text_of(const Sizes& sizes, const Sizes& over) {
  return fmt::format("{} over {}", extents(sizes),
                     over.empty() ? "all" : fmt::format("{}", fmt::join(over, ",")));
}

const ElementType* result_type(const Layout& layout, const Inputs& inputs, bool whole,
                               const ElementType& input) {
  if (layout.is_bool) return element_type("bool");
  const auto argument = whole ? (layout.type < 0 ? -1 : 1) : layout.type;
  if (argument >= 0) {
    if (const auto number = inputs.integer(static_cast<size_t>(argument))) {
      return element_type_of_number(*number);
    }
  }
  const bool sums = layout.type >= 0;
  return sums && !input.is_float() && !input.is_complex() ? element_type("long") : &input;
}

Estimate reduction(std::string_view name, const Inputs& inputs) {
  const Layout& layout = layout_of(kLayouts, name);
  const Tensor* input = inputs.tensor(0);
  if (input == nullptr) return Estimate::none(kNoSizes);
  const bool whole = inputs.size() <= layout.whole_inputs;
  // max(a, b) and the like of two tensors are not reductions.
  if (!whole && inputs.tensor(1) != nullptr) return Estimate::none("no model for two tensors");
  Sizes over;
  if (!whole) {
    const auto dimensions = inputs.integers(1);
    const bool told = dimensions || inputs[2].concrete == "True" || inputs[2].concrete == "False";
    if (!told) return Estimate::none(kNoValues);
    if (dimensions) over = *dimensions;  // None means all
  }
  const auto results = results_of(input->sizes, over);
  if (!results) return Estimate::none(kOddSizes);
  const ElementType* type = result_type(layout, inputs, whole, *input->type);
  if (type == nullptr) return Estimate::none(kOddType);
  int64_t each_result = layout.only_index ? 0 : type->bytes;
  if (layout.only_index || !whole) each_result += layout.index_bytes;
  const int64_t flops = input->type->is_float() ? layout.flops : 0;
  return estimate_of(product_of({flops, input->elements()}),
                     sum_of({input->stored_bytes(), product_of({*results, each_result})}),
                     text_of(input->sizes, over), input->type);
}

}  // namespace

std::vector<PerfModel> reduction_models() {
  return models_of(kLayouts, WorkKind::kReduction, reduction);
}

}  // namespace sonde::analysis
