// Operators that work element by element: one operation for each element of the result, whatever
// the function costs, 0 where values are only moved, compared or chosen, and 0 for integers.

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

using Sizes = std::vector<int64_t>;

enum class Result : uint8_t {
  kPromoted,  // the type that all operands fit into
  kBool,
  kFirst,  // the type and size of the first operand, which is written over but not read
};

struct Layout {
  std::string_view name;  // of the form without the underscore that means "in place"
  uint8_t first, operands;
  uint8_t flops;
  Result result = Result::kPromoted;
};

constexpr Layout kLayouts[] = {
    {"add", 0, 2, 1},
    {"sub", 0, 2, 1},
    {"rsub", 0, 2, 1},
    {"mul", 0, 2, 1},
    {"div", 0, 2, 1},
    {"true_divide", 0, 2, 1},
    {"floor_divide", 0, 2, 1},
    {"remainder", 0, 2, 1},
    {"fmod", 0, 2, 1},
    {"pow", 0, 2, 1},
    {"maximum", 0, 2, 1},
    {"minimum", 0, 2, 1},
    {"atan2", 0, 2, 1},
    {"addcmul", 0, 3, 3},
    {"addcdiv", 0, 3, 3},
    {"lerp", 0, 3, 3},
    {"neg", 0, 1, 1},
    {"abs", 0, 1, 1},
    {"exp", 0, 1, 1},
    {"exp2", 0, 1, 1},
    {"expm1", 0, 1, 1},
    {"log", 0, 1, 1},
    {"log2", 0, 1, 1},
    {"log10", 0, 1, 1},
    {"log1p", 0, 1, 1},
    {"sqrt", 0, 1, 1},
    {"rsqrt", 0, 1, 1},
    {"reciprocal", 0, 1, 1},
    {"sin", 0, 1, 1},
    {"cos", 0, 1, 1},
    {"tanh", 0, 1, 1},
    {"erf", 0, 1, 1},
    {"floor", 0, 1, 1},
    {"ceil", 0, 1, 1},
    {"round", 0, 1, 1},
    {"sigmoid", 0, 1, 1},
    {"relu", 0, 1, 1},
    {"gelu", 0, 1, 1},
    {"silu", 0, 1, 1},
    {"mish", 0, 1, 1},
    {"elu", 0, 1, 1},
    {"leaky_relu", 0, 1, 1},
    {"hardtanh", 0, 1, 1},
    {"hardswish", 0, 1, 1},
    {"hardsigmoid", 0, 1, 1},
    {"softplus", 0, 1, 1},
    {"clamp", 0, 1, 1},
    {"clamp_min", 0, 1, 1},
    {"clamp_max", 0, 1, 1},
    {"threshold", 0, 1, 1},
    {"threshold_backward", 0, 2, 1},
    {"sigmoid_backward", 0, 2, 1},
    {"tanh_backward", 0, 2, 1},
    {"gelu_backward", 0, 2, 1},
    {"silu_backward", 0, 2, 1},
    {"hardtanh_backward", 0, 2, 1},
    {"leaky_relu_backward", 0, 2, 1},
    {"eq", 0, 2, 0, Result::kBool},
    {"ne", 0, 2, 0, Result::kBool},
    {"lt", 0, 2, 0, Result::kBool},
    {"le", 0, 2, 0, Result::kBool},
    {"gt", 0, 2, 0, Result::kBool},
    {"ge", 0, 2, 0, Result::kBool},
    {"logical_and", 0, 2, 0, Result::kBool},
    {"logical_or", 0, 2, 0, Result::kBool},
    {"logical_not", 0, 1, 0, Result::kBool},
    {"isnan", 0, 1, 0, Result::kBool},
    {"isinf", 0, 1, 0, Result::kBool},
    {"bitwise_and", 0, 2, 0},
    {"bitwise_or", 0, 2, 0},
    {"bitwise_not", 0, 1, 0},
    {"clone", 0, 1, 0},
    {"tril", 0, 1, 0},
    {"triu", 0, 1, 0},
    {"where", 1, 2, 0},  // the condition is read as well
    {"copy_", 1, 1, 0, Result::kFirst},
    {"fill_", 1, 1, 0, Result::kFirst},
    {"zero_", 1, 0, 0, Result::kFirst},
};

constexpr std::string_view kNamespace = "aten::";

const Layout* layout_of(std::string_view name) {
  if (name.substr(0, kNamespace.size()) != kNamespace) return nullptr;
  name.remove_prefix(kNamespace.size());
  for (const Layout& layout : kLayouts) {
    if (layout.name == name) return &layout;
  }
  if (name.empty() || name.back() != '_') return nullptr;
  name.remove_suffix(1);
  for (const Layout& layout : kLayouts) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

bool is_in_place(std::string_view name) { return name.back() == '_'; }

// What the operands have in common; the sizes are stretched to fit.
struct Common {
  Sizes sizes;
  const ElementType* type = nullptr;         // of tensors with dimensions
  const ElementType* scalar_type = nullptr;  // of those without, which only add a category
};

bool stretch(Sizes& sizes, const Sizes& other) {
  if (other.size() > sizes.size()) sizes.insert(sizes.begin(), other.size() - sizes.size(), 1);
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    const int64_t wanted = other[other.size() - 1 - i];
    if (size != wanted && size != 1 && wanted != 1) return false;
    if (size == 1) size = wanted;
  }
  return true;
}

bool join(Common& common, const Tensor& tensor) {
  const ElementType*& type = tensor.sizes.empty() ? common.scalar_type : common.type;
  if (type == nullptr || tensor.type->rank > type->rank) type = tensor.type;
  return stretch(common.sizes, tensor.sizes);
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

Estimate over_first(const Layout& layout, const Inputs& inputs) {
  const Tensor* first = inputs.tensor(0);
  const Tensor* source = layout.operands == 0 ? nullptr : inputs.tensor(1);
  if (first == nullptr) return Estimate::none(kNoSizes);
  if (layout.name == "copy_" && source == nullptr) return Estimate::none(kNoSizes);
  const std::optional<int64_t> nothing = 0;
  return estimate_of(
      0, sum_of({first->stored_bytes(), source == nullptr ? nothing : read_bytes(*source, true)}),
      extents(first->sizes), first->type);
}

Estimate elementwise(std::string_view name, const Inputs& inputs) {
  const Layout& layout = *layout_of(name);
  if (layout.result == Result::kFirst) return over_first(layout, inputs);
  Common common;
  std::optional<int64_t> bytes = 0;
  size_t tensors = 0;
  for (size_t i = 0; i < layout.first + size_t{layout.operands}; ++i) {
    if (inputs[i].is_list) return Estimate::none("a list of tensors has no type recorded");
    const Tensor* tensor = inputs.tensor(i);
    if (tensor == nullptr) continue;  // a number
    ++tensors;
    const bool decides_type = i >= layout.first;
    Common only_sizes = common;
    if (!join(decides_type ? common : only_sizes, *tensor)) return Estimate::none(kOddSizes);
    common.sizes = decides_type ? common.sizes : only_sizes.sizes;
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
    const std::string name = std::string(kNamespace) + std::string(layout.name);
    models.push_back({name, WorkKind::kElementwise, elementwise});
    if (name.back() != '_') models.push_back({name + "_", WorkKind::kElementwise, elementwise});
  }
  return models;
}

}  // namespace sonde::analysis
