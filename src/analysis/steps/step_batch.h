// How many samples a step takes, told from the inputs of its first operators, as far as a trace has
// them. Used by `steps`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace sonde::analysis {

struct Batch {
  int64_t size = 0;              // 0: not known
  std::string what = "Samples";  // "Images", "Tokens"
  std::string source;            // "the input of aten::conv2d"
  // How often the step calls that operator with the same shapes: more than once if it accumulates
  // gradients, runs a forward pass again, or has layers alike. Which of these is not known.
  int64_t times = 1;
};

// The batch of the first operator in the step whose arguments batch_wants_args() asked for.
Batch batch_of(const trace::Trace& trace, trace::Interval step);
bool batch_wants_args(std::string_view name);

}  // namespace sonde::analysis
