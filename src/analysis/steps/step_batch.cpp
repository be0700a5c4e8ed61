#include "analysis/steps/step_batch.h"

#include "analysis/perf/tensors.h"

namespace sonde::analysis {
namespace {

bool is_convolution(std::string_view name) {
  return name == "aten::conv2d" || name == "aten::convolution";
}

}  // namespace

bool batch_wants_args(std::string_view name) {
  return is_convolution(name) || name == "aten::embedding";
}

Batch batch_of(const trace::Trace& trace, trace::Interval step) {
  if (trace.apis.args.empty()) return {};
  for (size_t api = 0; api < trace.apis.size(); ++api) {
    const bool is_inside =
        trace.apis.start_ns[api] >= step.start_ns && trace.apis.end_ns[api] <= step.end_ns;
    if (!is_inside || trace.apis.args[api] == 0) continue;
    const std::string& name = trace.names[trace.apis.name[api]];
    const auto inputs = Inputs::parse(trace.texts[trace.apis.args[api]]);
    if (!inputs || !batch_wants_args(name)) continue;
    const bool is_image = is_convolution(name);
    // aten::embedding takes the weights first.
    const Tensor* input = inputs->tensor(is_image ? 0 : 1);
    if (input == nullptr || input->sizes.empty()) continue;
    if (is_image && input->sizes.size() != 4) continue;
    const int64_t size = is_image ? input->sizes[0] : input->elements().value_or(0);
    if (size <= 0) continue;
    return {size, is_image ? "Images" : "Tokens", "the input of " + name};
  }
  return {};
}

}  // namespace sonde::analysis
