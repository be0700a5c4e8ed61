// Convolutions of one to three dimensions: each element of the result takes
// 2 * (channels of a group) * (size of the kernel) operations. The gradients of input and weight
// take as many each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int kNone = kNoArgument;

// Where the arguments of an operator are.
struct Layout {
  std::string_view name;
  int bias, stride, padding, dilation;
  int groups = kNone;          // kNone: told from the sizes
  int transposed = kNone;      // a flag
  int output_padding = kNone;  // of transposed ones
  bool always_transposed = false;
  int input = 0, weight = 1;
};

constexpr Layout kLayouts[] = {
    {"aten::convolution", 2, 3, 4, 5, 8, 6, 7},
    {"aten::_convolution", 2, 3, 4, 5, 8, 6, 7},
    {"aten::convolution_overrideable", 2, 3, 4, 5, 8, 6, 7},
    {"aten::conv1d", 2, 3, 4, 5, 6},
    {"aten::conv2d", 2, 3, 4, 5, 6},
    {"aten::conv3d", 2, 3, 4, 5, 6},
    {"aten::cudnn_convolution", kNone, 3, 2, 4, 5},
    {"aten::cudnn_convolution_relu", 2, 3, 4, 5, 6},
    {"aten::cudnn_convolution_transpose", kNone, 4, 2, 5, 6, kNone, 3, true},
    {"aten::miopen_convolution", 2, 4, 3, 5, 6},
    {"aten::miopen_depthwise_convolution", 2, 4, 3, 5, 6},
    {"aten::miopen_convolution_relu", 2, 3, 4, 5, 6},
    {"aten::miopen_convolution_transpose", 2, 5, 3, 6, 7, kNone, 4, true},
    {"aten::_conv_depthwise2d", 3, 4, 5, 6},
    {"aten::conv_depthwise3d", 3, 4, 5, 6},
    {"aten::conv_transpose1d", 2, 3, 4, 7, 6, kNone, 5, true},
    {"aten::conv_transpose2d", 2, 3, 4, 7, 6, kNone, 5, true},
    {"aten::conv_transpose3d", 2, 3, 4, 7, 6, kNone, 5, true},
};

// One value for each dimension; a single one is for all.
std::optional<Sizes> steps(const Inputs& inputs, int argument, size_t dimensions) {
  if (argument == kNone) return Sizes(dimensions, 0);
  auto values = inputs.integers(static_cast<size_t>(argument));
  if (!values) return std::nullopt;
  if (values->size() == 1) values->resize(dimensions, values->front());
  return values->size() == dimensions ? values : std::nullopt;
}

struct Geometry {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
};

std::optional<Geometry> geometry_of(const Inputs& inputs, const Layout& layout, size_t dimensions) {
  const auto stride = steps(inputs, layout.stride, dimensions);
  const auto padding = steps(inputs, layout.padding, dimensions);
  const auto dilation = steps(inputs, layout.dilation, dimensions);
  if (!stride || !padding || !dilation) return std::nullopt;
  Geometry geometry{*stride, *padding, *dilation, Sizes(dimensions, 0), layout.always_transposed};
  if (layout.transposed != kNone) {
    const auto transposed = inputs.flag(static_cast<size_t>(layout.transposed));
    if (!transposed) return std::nullopt;
    geometry.transposed = *transposed;
  }
  if (geometry.transposed) {
    const auto added = steps(inputs, layout.output_padding, dimensions);
    if (!added) return std::nullopt;
    geometry.output_padding = *added;
  }
  return geometry;
}

// The size of the result in one dimension; nullopt if there is none. Sizes beyond `kMost` are not
// taken, so that nothing here overflows.
std::optional<int64_t> extent_of(const Geometry& geometry, size_t i, int64_t in, int64_t kernel) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t stride = geometry.stride[i];
  const int64_t padding = geometry.padding[i];
  const int64_t dilation = geometry.dilation[i];
  const int64_t added = geometry.output_padding[i];
  for (const int64_t value : {in, kernel, stride, padding, dilation, added}) {
    if (value < 0 || value > kMost) return std::nullopt;
  }
  if (stride == 0 || kernel == 0) return std::nullopt;
  const int64_t covered = dilation * (kernel - 1) + 1;
  const int64_t extent = geometry.transposed ? (in - 1) * stride - 2 * padding + covered + added
                                             : (in + 2 * padding - covered) / stride + 1;
  if (!geometry.transposed && in + 2 * padding < covered) return std::nullopt;
  return extent > 0 ? std::optional(extent) : std::nullopt;
}

std::string shape_text(const Tensor& input, const Tensor& weight, const Geometry& geometry,
                       int64_t groups) {
  const std::span<const int64_t> in(input.sizes);
  const std::span<const int64_t> w(weight.sizes);
  return fmt::format("N={} C={} {} {}={} {} s{} p{} d{} g{}", in[0], in[1], extents(in.subspan(2)),
                     geometry.transposed ? "transposed K" : "K",
                     geometry.transposed ? w[1] * groups : w[0], extents(w.subspan(2)),
                     fmt::join(geometry.stride, ","), fmt::join(geometry.padding, ","),
                     fmt::join(geometry.dilation, ","), groups);
}

struct Operands {
  const Tensor* input = nullptr;
  const Tensor* weight = nullptr;
  Geometry geometry;
  int64_t groups = 1;
  std::vector<int64_t> result;  // of the forward pass
};

// Fills `operands`; otherwise says why not.
const char* read_operands(const Inputs& inputs, const Layout& layout, Operands& operands) {
  operands.input = inputs.tensor(static_cast<size_t>(layout.input));
  operands.weight = inputs.tensor(static_cast<size_t>(layout.weight));
  if (operands.input == nullptr || operands.weight == nullptr) return kNoSizes;
  const Sizes& in = operands.input->sizes;
  const Sizes& w = operands.weight->sizes;
  if (in.size() < 3 || in.size() > 5 || w.size() != in.size()) return kOddSizes;
  if (operands.input->type->is_complex()) return kOddType;
  const auto geometry = geometry_of(inputs, layout, in.size() - 2);
  if (!geometry) return kNoValues;
  operands.geometry = *geometry;
  // A plain weight is [K, C / groups, ...], a transposed one [C, K / groups, ...].
  if (layout.groups != kNone) {
    const auto groups = inputs.integer(static_cast<size_t>(layout.groups));
    if (!groups) return kNoValues;
    operands.groups = *groups;
  } else {
    operands.groups = w[1] == 0 ? 0 : in[1] / w[1];
  }
  const auto channels =
      geometry->transposed ? w[0] : product_of({w[1], operands.groups}).value_or(0);
  if (operands.groups <= 0 || channels != in[1]) return kOddSizes;
  const auto results = geometry->transposed ? product_of({w[1], operands.groups}) : w[0];
  if (!results) return kTooLarge;
  operands.result = {in[0], *results};
  for (size_t i = 2; i < in.size(); ++i) {
    const auto extent = extent_of(*geometry, i - 2, in[i], w[i]);
    if (!extent) return kOddSizes;
    operands.result.push_back(*extent);
  }
  return nullptr;
}

// A pass over all products: each element of the result (of the input, if it is transposed) takes
// part in as many as a filter has elements.
std::optional<int64_t> flops_of_pass(const Operands& operands) {
  const Sizes& w = operands.weight->sizes;
  const auto filter = product({w.begin() + 1, w.end()});
  return product_of(
      {2, product(operands.geometry.transposed ? operands.input->sizes : operands.result), filter});
}

Estimate forward(std::string_view name, const Inputs& inputs) {
  const Layout& layout = layout_of(kLayouts, name);
  Operands operands;
  if (const char* why = read_operands(inputs, layout, operands)) return Estimate::none(why);
  const auto bytes = sum_of({operands.input->stored_bytes(), operands.weight->stored_bytes(),
                             product_of({product(operands.result), operands.input->type->bytes}),
                             stored_bytes(inputs.tensor_at(layout.bias))});
  return estimate_of(
      flops_of_pass(operands), bytes,
      shape_text(*operands.input, *operands.weight, operands.geometry, operands.groups),
      operands.input->type);
}

// convolution_backward(grad, input, weight, bias_sizes, stride, padding, dilation, transposed,
// output_padding, groups, output_mask): a pass each for the gradients that are wanted.
Estimate backward(std::string_view, const Inputs& inputs) {
  constexpr Layout kLayout{"", kNone, 4, 5, 6, 9, 7, 8, false, 1, 2};
  constexpr size_t kMask = 10;
  const Tensor* gradient = inputs.tensor(0);
  if (gradient == nullptr) return Estimate::none(kNoSizes);
  Operands operands;
  if (const char* why = read_operands(inputs, kLayout, operands)) return Estimate::none(why);
  if (gradient->sizes != operands.result) return Estimate::none(kOddSizes);
  const std::string_view mask = inputs[kMask].concrete;
  std::vector<bool> wanted;
  for (size_t i = 0; i + 1 < mask.size(); ++i) {
    if (mask[i] == 'T') wanted.push_back(true);
    if (mask[i] == 'F') wanted.push_back(false);
  }
  if (wanted.size() != 3) return Estimate::none(kNoValues);
  const auto passes = static_cast<int64_t>(wanted[0]) + static_cast<int64_t>(wanted[1]);
  const auto grad_bytes = gradient->stored_bytes();
  const auto input_bytes = product_of({operands.input->elements(), operands.input->type->bytes});
  const auto weight_bytes = product_of({operands.weight->elements(), operands.weight->type->bytes});
  const std::optional<int64_t> nothing = 0;
  // A pass for the input reads gradient and weight, one for the weight gradient and input.
  const auto pass_bytes = sum_of({grad_bytes, input_bytes, weight_bytes});
  const auto bias_bytes =
      wanted[2] ? sum_of({grad_bytes, product_of({operands.result[1], gradient->type->bytes})})
                : nothing;
  const auto bytes = sum_of({product_of({passes, pass_bytes}), bias_bytes});
  std::string shape =
      shape_text(*operands.input, *operands.weight, operands.geometry, operands.groups);
  shape += fmt::format(" gradients:{}{}{}", wanted[0] ? " input" : "", wanted[1] ? " weight" : "",
                       wanted[2] ? " bias" : "");
  return estimate_of(product_of({passes, flops_of_pass(operands)}), bytes, std::move(shape),
                     operands.input->type);
}

}  // namespace

std::vector<PerfModel> convolution_models() {
  auto models = models_of(kLayouts, WorkKind::kConvolution, forward);
  models.push_back({"aten::convolution_backward", WorkKind::kConvolution, backward});
  return models;
}

}  // namespace sonde::analysis
