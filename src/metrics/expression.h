// Formulas of metrics, parsed once: counters and $variables joined by + - * /, comparisons,
// `A if CONDITION else B`, and functions of columns. Used by definitions.h, evaluated by
// evaluate.h. A formula that is too deep or too long is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::metrics {

enum class Op : uint8_t {
  kNumber,
  kNone,      // no value
  kCounter,   // NAME: a counter or another column of dispatches
  kChannel,   // NAME[channel]: of the channel that the row is for; NAME[3]: of channel 3
  kChannels,  // NAME[*]: the sum over all channels
  kVariable,  // $NAME
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kEqual,
  kNotEqual,
  kLess,
  kGreater,
  kLessEqual,
  kGreaterEqual,
  kSelect,  // operands: condition, then, else
  kCall,    // text is the function
};

struct Node {
  Op op = Op::kNone;
  double number = 0;  // kNumber; of kChannel the channel, -1 for that of the row
  std::string text{};
  std::vector<uint32_t> operands{};  // indexes into Expression::nodes, each before its user
};

struct Expression {
  std::string source;
  std::vector<Node> nodes;  // the last is the result; empty: there is no formula

  bool empty() const { return nodes.empty(); }
  // The names of counters or variables, in order of appearance, each once; without "[3]".
  std::vector<std::string> names(Op op) const;
};

// Errors name `place`.
Result<Expression> parse_expression(std::string_view text, const std::string& place);

}  // namespace sonde::metrics
