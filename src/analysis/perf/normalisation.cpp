// Normalisations and softmax, in operations for each element of the input. Forward: mean 1,
// variance 3, subtracting the mean and scaling 2, weight 1, bias 1; a root mean square takes 2 and
// scaling by it 1. Backward: the normalised value again 2, the sums of the gradient and of its
// product with it 3, the gradient of the input 4; with a weight 1 more for the weighted gradient,
// 2 for the gradient of the weight and 1 for that of the bias.

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

constexpr int kNone = kNoArgument;

struct Layout {
  std::string_view name;
  int input, weight, bias;
  int training = kNone;  // a flag; without training there are no statistics
  int gradient = kNone;  // of the result: a backward pass
  bool is_rms = false;
};

constexpr Layout kLayouts[] = {
    {"aten::native_layer_norm", 0, 2, 3},
    {"aten::native_group_norm", 0, 1, 2},
    {"aten::native_batch_norm", 0, 1, 2, 5},
    {"aten::_native_batch_norm_legit", 0, 1, 2, 5},
    {"aten::cudnn_batch_norm", 0, 1, 2, 5},
    {"aten::miopen_batch_norm", 0, 1, 2, 5},
    {"aten::_fused_rms_norm", 0, 2, kNone, kNone, kNone, true},
    {"aten::native_layer_norm_backward", 1, 5, 6, kNone, 0},
    {"aten::native_group_norm_backward", 1, 4, kNone, kNone, 0},
    {"aten::native_batch_norm_backward", 1, 2, kNone, 7, 0},
    {"aten::cudnn_batch_norm_backward", 0, 2, kNone, kNone, 1},
    {"aten::miopen_batch_norm_backward", 0, 2, kNone, kNone, 1},
};

Estimate norm(std::string_view name, const Inputs& inputs) {
  const Layout& layout = layout_of(kLayouts, name);
  const Tensor* input = inputs.tensor_at(layout.input);
  if (input == nullptr) return Estimate::none(kNoSizes);
  if (!input->type->is_float()) return Estimate::none(kOddType);
  std::optional<bool> training = true;
  if (layout.training != kNone) training = inputs.flag(static_cast<size_t>(layout.training));
  if (!training) return Estimate::none(kNoValues);
  const Tensor* weight = inputs.tensor_at(layout.weight);
  const Tensor* bias = inputs.tensor_at(layout.bias);
  const auto weight_bytes = stored_bytes(weight), bias_bytes = stored_bytes(bias);
  const auto elements = input->elements();
  const auto result_bytes = product_of({elements, input->type->bytes});
  std::string shape = extents(input->sizes) + (*training ? "" : " evaluation");
  if (layout.gradient == kNone) {
    int64_t each = layout.is_rms ? 3 : 2 + (*training ? 4 : 0);
    each += (weight != nullptr ? 1 : 0) + (bias != nullptr ? 1 : 0);
    return estimate_of(product_of({each, elements}),
                       sum_of({input->stored_bytes(), result_bytes, weight_bytes, bias_bytes}),
                       std::move(shape), input->type);
  }
  const Tensor* gradient = inputs.tensor_at(layout.gradient);
  if (gradient == nullptr) return Estimate::none(kNoSizes);
  if (!*training) return Estimate::none("no model for the gradient in evaluation mode");
  const int64_t each = 9 + (weight != nullptr ? 4 : 0);
  // The gradients of weight and bias are as large as the weight.
  return estimate_of(product_of({each, elements}),
                     sum_of({gradient->stored_bytes(), input->stored_bytes(), result_bytes,
                             product_of({3, weight_bytes})}),
                     std::move(shape), input->type);
}

// Subtract the maximum, exponential, sum, divide (or subtract the logarithm): 4 an element.
Estimate softmax(std::string_view, const Inputs& inputs) {
  const Tensor* input = inputs.tensor(0);
  const auto to_float = inputs.flag(2);
  if (input == nullptr) return Estimate::none(kNoSizes);
  if (!to_float) return Estimate::none(kNoValues);
  const int64_t bytes = *to_float ? element_type("float")->bytes : input->type->bytes;
  return estimate_of(product_of({4, input->elements()}),
                     sum_of({input->stored_bytes(), product_of({input->elements(), bytes})}),
                     extents(input->sizes), input->type);
}

// Product with the result, sum, subtract, product: 4 an element. The result has the type that is
// an argument.
Estimate softmax_backward(std::string_view, const Inputs& inputs) {
  const Tensor* gradient = inputs.tensor(0);
  const Tensor* result = inputs.tensor(1);
  const auto number = inputs.integer(3);
  if (gradient == nullptr || result == nullptr) return Estimate::none(kNoSizes);
  const ElementType* type = number ? element_type_of_number(*number) : nullptr;
  if (type == nullptr) return Estimate::none(kNoValues);
  return estimate_of(product_of({4, gradient->elements()}),
                     sum_of({gradient->stored_bytes(), result->stored_bytes(),
                             product_of({gradient->elements(), type->bytes})}),
                     extents(gradient->sizes), gradient->type);
}

}  // namespace

std::vector<PerfModel> normalisation_models() {
  auto models = models_of(kLayouts, WorkKind::kNormalisation, norm);
  for (const char* name : {"aten::_softmax", "aten::_log_softmax"}) {
    models.push_back({name, WorkKind::kNormalisation, softmax});
  }
  for (const char* name : {"aten::_softmax_backward_data", "aten::_log_softmax_backward_data"}) {
    models.push_back({name, WorkKind::kNormalisation, softmax_backward});
  }
  return models;
}

}  // namespace sonde::analysis
