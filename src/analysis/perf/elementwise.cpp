// Operators that work element by element: one operation for each element of the result, whatever
// the function costs, 0 where values are only moved, compared or chosen, and 0 for integers.

#include <algorithm>
#include <span>

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

using Sizes = std::vector<int64_t>;

enum class Result : uint8_t {
  kPromoted,  // the type that all operands fit into
  kBool,
  kFirst,  // the type and size of the first operand, which is written over but not read
};

// Names of the forms without the underscore that means "in place".
constexpr std::string_view kBinary[] = {"add",         "sub",          "rsub",      "mul",  "div",
                                        "true_divide", "floor_divide", "remainder", "fmod", "pow",
                                        "maximum",     "minimum",      "atan2"};
constexpr std::string_view kTernary[] = {"addcmul", "addcdiv", "lerp"};
constexpr std::string_view kUnary[] = {
    "neg",         "abs",      "exp",   "exp2",      "expm1",      "log",      "log2",
    "log10",       "log1p",    "sqrt",  "rsqrt",     "reciprocal", "sin",      "cos",
    "tanh",        "erf",      "floor", "ceil",      "round",      "sigmoid",  "relu",
    "gelu",        "silu",     "mish",  "elu",       "leaky_relu", "hardtanh", "hardswish",
    "hardsigmoid", "softplus", "clamp", "clamp_min", "clamp_max",  "threshold"};
constexpr std::string_view kGradients[] = {
    "threshold_backward", "sigmoid_backward",  "tanh_backward",      "gelu_backward",
    "silu_backward",      "hardtanh_backward", "leaky_relu_backward"};
constexpr std::string_view kComparisons[] = {"eq", "ne", "lt",          "le",
                                             "gt", "ge", "logical_and", "logical_or"};
constexpr std::string_view kTests[] = {"logical_not", "isnan", "isinf"};
constexpr std::string_view kPairsWithoutFlops[] = {"bitwise_and", "bitwise_or"};
constexpr std::string_view kWithoutFlops[] = {"bitwise_not", "clone", "tril", "triu"};
constexpr std::string_view kChoices[] = {"where"};  // the condition is read as well
constexpr std::string_view kCopies[] = {"copy_", "fill_"};
constexpr std::string_view kZeros[] = {"zero_"};

struct Layout {
  std::span<const std::string_view> names;
  uint8_t first, operands;
  uint8_t flops;
  Result result = Result::kPromoted;
};

constexpr Layout kLayouts[] = {
    {kBinary, 0, 2, 1},
    {kTernary, 0, 3, 3},
    {kUnary, 0, 1, 1},
    {kGradients, 0, 2, 1},
    {kComparisons, 0, 2, 0, Result::kBool},
    {kTests, 0, 1, 0, Result::kBool},
    {kPairsWithoutFlops, 0, 2, 0},
    {kWithoutFlops, 0, 1, 0},
    {kChoices, 1, 2, 0},
    {kCopies, 1, 1, 0, Result::kFirst},
    {kZeros, 1, 0, 0, Result::kFirst},
};

constexpr std::string_view kNamespace = "aten::";

bool is_in_place(std::string_view name) { return name.back() == '_'; }

// Of an operator that has a model.
const Layout& layout_of(std::string_view name) {
  name.remove_prefix(kNamespace.size());
  const std::string_view plain = is_in_place(name) ? name.substr(0, name.size() - 1) : name;
  const auto has_name = [&](const Layout& layout) {
    return std::any_of(layout.names.begin(), layout.names.end(),
                       [&](std::string_view known) { return known == name || known == plain; });
  };
  return *std::find_if(std::begin(kLayouts), std::end(kLayouts), has_name);
}

// What the operands have in common; the sizes are stretched to fit.
struct Common {
  Sizes sizes;
  const ElementType* type = nullptr;         // of tensors with dimensions
  const ElementType* scalar_type = nullptr;  // of those without, which only add a category
};

void add_type(Common& common, const Tensor& tensor) {
  const ElementType*& type = tensor.sizes.empty() ? common.scalar_type : common.type;
  if (type == nullptr || tensor.type->rank > type->rank) type = tensor.type;
}

int category_of(const ElementType& type) {
  if (type.is_complex()) return 3;
  if (type.is_float()) return 2;
  return type.rank == 0 ? 0 : 1;
}

// nullptr where it cannot be told: a number without dimensions of a higher category (an integer
// tensor times 0.5) makes it what the program chose as its default.
const ElementType* promoted(const Common& common) {
  if (common.type == nullptr) return common.scalar_type;
  if (common.scalar_type == nullptr) return common.type;
  return category_of(*common.scalar_type) > category_of(*common.type) ? nullptr : common.type;
}

// The bytes of an operand; a number without dimensions beside tensors comes with the launch.
std::optional<int64_t> read_bytes(const Tensor& tensor, bool alone) {
  return tensor.sizes.empty() && !alone ? std::optional<int64_t>(0) : tensor.stored_bytes();
}

Estimate over_first(std::string_view name, const Layout& layout, const Inputs& inputs) {
  const Tensor* first = inputs.tensor(0);
  const Tensor* source = layout.operands == 0 ? nullptr : inputs.tensor(1);
  if (first == nullptr) return Estimate::none(kNoSizes);
  if (name == "aten::copy_" && source == nullptr) return Estimate::none(kNoSizes);
  const std::optional<int64_t> nothing = 0;
  return estimate_of(
      0, sum_of({first->stored_bytes(), source == nullptr ? nothing : read_bytes(*source, true)}),
      extents(first->sizes), first->type);
}

Estimate elementwise(std::string_view name, const Inputs& inputs) {
  const Layout& layout = layout_of(name);
  if (layout.result == Result::kFirst) return over_first(name, layout, inputs);
  Common common;
  std::optional<int64_t> bytes = 0;
  size_t tensors = 0;
  for (size_t i = 0; i < layout.first + size_t{layout.operands}; ++i) {
    if (inputs[i].is_list) return Estimate::none("a list of tensors has no type recorded");
    const Tensor* tensor = inputs.tensor(i);
    if (tensor == nullptr) continue;  // a number
    ++tensors;
    if (i >= layout.first) add_type(common, *tensor);
    auto stretched = broadcast(common.sizes, tensor->sizes);
    if (!stretched) return Estimate::none(kOddSizes);
    common.sizes = std::move(*stretched);
    bytes = sum_of({bytes, read_bytes(*tensor, i == 0)});
  }
  const Tensor* first = inputs.tensor(0);
  if (tensors == 0 || (is_in_place(name) && first == nullptr)) return Estimate::none(kNoSizes);
  const ElementType* type = is_in_place(name) ? first->type : promoted(common);
  const ElementType* result =
      layout.result == Result::kBool && !is_in_place(name) ? element_type("bool") : type;
  if (type == nullptr || result == nullptr) {
    return Estimate::none("the type of the result is not recorded");
  }
  if (is_in_place(name)) common.sizes = first->sizes;
  const auto elements = product(common.sizes);
  const int64_t each = type->is_float() ? layout.flops : 0;
  return estimate_of(product_of({each, elements}),
                     sum_of({bytes, product_of({elements, result->bytes})}), extents(common.sizes),
                     type);
}

// Rows of a table by their numbers: read once each, and written.
Estimate gather(const Tensor* table, const Tensor* numbers, Sizes result) {
  const auto moved = product_of({product(result), table->type->bytes});
  return estimate_of(0, sum_of({product_of({2, moved}), numbers->stored_bytes()}), extents(result),
                     table->type);
}

Estimate index_select(std::string_view, const Inputs& inputs) {
  const Tensor* table = inputs.tensor(0);
  const Tensor* numbers = inputs.tensor(2);
  if (table == nullptr || numbers == nullptr) return Estimate::none(kNoSizes);
  const auto dimension = inputs.integer(1);
  if (!dimension) return Estimate::none(kNoValues);
  Sizes result = table->sizes;
  const auto at = *dimension < 0 ? *dimension + std::ssize(result) : *dimension;
  const auto count = numbers->elements();
  if (at < 0 || at >= std::ssize(result) || !count) return Estimate::none(kOddSizes);
  result[static_cast<size_t>(at)] = *count;
  return gather(table, numbers, std::move(result));
}

Estimate embedding(std::string_view, const Inputs& inputs) {
  const Tensor* table = inputs.tensor(0);
  const Tensor* numbers = inputs.tensor(1);
  if (table == nullptr || numbers == nullptr) return Estimate::none(kNoSizes);
  if (table->sizes.size() != 2) return Estimate::none(kOddSizes);
  Sizes result = numbers->sizes;
  result.push_back(table->sizes[1]);
  return gather(table, numbers, std::move(result));
}

}  // namespace

std::vector<PerfModel> elementwise_models() {
  std::vector<PerfModel> models = {{"aten::index_select", WorkKind::kElementwise, index_select},
                                   {"aten::embedding", WorkKind::kElementwise, embedding}};
  for (const Layout& layout : kLayouts) {
    for (const std::string_view known : layout.names) {
      const std::string name = std::string(kNamespace) + std::string(known);
      models.push_back({name, WorkKind::kElementwise, elementwise});
      if (name.back() != '_') models.push_back({name + "_", WorkKind::kElementwise, elementwise});
    }
  }
  return models;
}

}  // namespace sonde::analysis
