#include "analysis/steps/step_batch.h"

#include <optional>

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

namespace {

// How many samples the call's input has; nothing if it is no input of that kind.
std::optional<Batch> batch_of_call(const trace::Trace& trace, size_t api) {
  const std::string& name = trace.names[trace.apis.name[api]];
  const auto inputs = Inputs::parse(trace.texts[trace.apis.args[api]]);
  if (!inputs || !batch_wants_args(name)) return std::nullopt;
  const bool is_image = is_convolution(name);
  // aten::embedding takes the weights first.
  const Tensor* input = inputs->tensor(is_image ? 0 : 1);
  if (input == nullptr || input->sizes.empty()) return std::nullopt;
  if (is_image && input->sizes.size() != 4) return std::nullopt;
  const int64_t size = is_image ? input->sizes[0] : input->elements().value_or(0);
  if (size <= 0) return std::nullopt;
  return Batch{size, is_image ? "Images" : "Tokens", "the input of " + name, 1};
}

}  // namespace

Batch batch_of(const trace::Trace& trace, trace::Interval step) {
  if (trace.apis.args.empty()) return {};
  Batch batch;
  size_t first = 0;
  for (size_t api = 0; api < trace.apis.size(); ++api) {
    const bool is_inside =
        trace.apis.start_ns[api] >= step.start_ns && trace.apis.end_ns[api] <= step.end_ns;
    if (!is_inside || trace.apis.args[api] == 0) continue;
    if (batch.size == 0) {
      batch = batch_of_call(trace, api).value_or(Batch{});
      first = api;
    } else if (trace.apis.end_ns[api] > trace.apis.end_ns[first] &&  // not within it
               trace.apis.name[api] == trace.apis.name[first] &&
               trace.texts[trace.apis.args[api]] == trace.texts[trace.apis.args[first]]) {
      ++batch.times;
    }
  }
  return batch;
}

}  // namespace sonde::analysis
