#include "metrics/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sonde::metrics {
namespace {

constexpr int kMostDepth = 100;
constexpr size_t kMostNodes = 10000;

struct Function {
  std::string_view name;
  size_t least, most;  // arguments
};
constexpr Function kFunctions[] = {
    {"AVG", 1, 1}, {"MEDIAN", 1, 1}, {"STD", 1, 1},   {"TO_INT", 1, 1},   {"MIN", 1, 2},
    {"MAX", 1, 2}, {"MOD", 2, 2},    {"ROUND", 2, 2}, {"QUANTILE", 2, 2}, {"OR", 2, 2},
};

bool is_word(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Recursive descent; a failure is kept and everything after it is ignored.
class Parser {
 public:
  Parser(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  Result<Expression> parse() {
    expression_.source = std::string(text_);
    select();
    skip_blanks();
    if (problem_.empty() && at_ < text_.size()) fail("cannot go on here");
    if (!problem_.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        fmt::format("error in the formula at character {}: {}", at_ + 1, problem_),
                        place_);
    }
    return std::move(expression_);
  }

 private:
  uint32_t add(Node node) {
    if (expression_.nodes.size() >= kMostNodes) fail("it is too long");
    expression_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(expression_.nodes.size() - 1);
  }
  uint32_t fail(const char* problem) {
    if (problem_.empty()) problem_ = problem;
    return 0;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_blanks();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    const bool is_name = is_word(symbol[0]);
    if (is_name && at_ + symbol.size() < text_.size() && is_word(text_[at_ + symbol.size()])) {
      return false;
    }
    at_ += symbol.size();
    return true;
  }
  std::string word() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  uint32_t select() {
    if (++depth_ > kMostDepth) return fail("it is too deep");
    uint32_t result = compare();
    if (problem_.empty() && take("if")) {
      const uint32_t condition = compare();
      if (!take("else")) return fail("'else' is missing");
      const uint32_t otherwise = select();
      result = add({Op::kSelect, 0, "", {condition, result, otherwise}});
    }
    --depth_;
    return result;
  }

  uint32_t compare() {
    constexpr std::pair<std::string_view, Op> kSymbols[] = {
        {"==", Op::kEqual},        {"!=", Op::kNotEqual}, {"<=", Op::kLessEqual},
        {">=", Op::kGreaterEqual}, {"<", Op::kLess},      {">", Op::kGreater}};
    const uint32_t left = sum();
    for (const auto& [symbol, op] : kSymbols) {
      if (problem_.empty() && take(symbol)) {
        const uint32_t right = sum();
        return add({op, 0, "", {left, right}});
      }
    }
    return left;
  }

  uint32_t sum() {
    return chain([&] { return product(); }, "+", Op::kAdd, "-", Op::kSubtract);
  }
  uint32_t product() {
    return chain([&] { return factor(); }, "*", Op::kMultiply, "/", Op::kDivide);
  }

  // Operands with one of two operators between them, from the left.
  template <typename Operand>
  uint32_t chain(const Operand& operand, const char* one, Op if_one, const char* other,
                 Op if_other) {
    uint32_t left = operand();
    while (problem_.empty()) {
      const bool is_one = take(one);
      if (!is_one && !take(other)) break;
      const uint32_t right = operand();
      left = add({is_one ? if_one : if_other, 0, "", {left, right}});
    }
    return left;
  }

  uint32_t factor() {
    if (++depth_ > kMostDepth) return fail("it is too deep");
    uint32_t result = 0;
    skip_blanks();
    if (take("-")) {
      result = add({Op::kNegate, 0, "", {factor()}});
    } else if (take("(")) {
      result = select();
      if (!take(")")) fail("')' is missing");
    } else if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) {
      result = number();
    } else if (take("$")) {
      std::string name = word();
      if (name.empty()) return fail("a name is missing after $");
      result = add({Op::kVariable, 0, std::move(name), {}});
    } else {
      result = name();
    }
    --depth_;
    return result;
  }

  uint32_t number() {
    double value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc()) return fail("not a number");
    at_ = static_cast<size_t>(stop - text_.data());
    return add({Op::kNumber, value, "", {}});
  }

  uint32_t name() {
    std::string text = word();
    if (text.empty()) return fail("a value is missing");
    if (text == "None") return add({Op::kNone, 0, "", {}});
    if (take("(")) return call(std::move(text));
    if (!take("[")) return add({Op::kCounter, 0, std::move(text), {}});
    uint32_t result = 0;
    if (take("*")) {
      result = add({Op::kChannels, 0, std::move(text), {}});
    } else if (take("channel")) {
      result = add({Op::kChannel, -1, std::move(text), {}});
    } else {
      int channel = 0;
      const char* const end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, channel);
      if (error != std::errc() || channel < 0) return fail("no number of a channel");
      at_ = static_cast<size_t>(stop - text_.data());
      result = add({Op::kChannel, static_cast<double>(channel), std::move(text), {}});
    }
    return take("]") ? result : fail("']' is missing");
  }

  uint32_t call(std::string function) {
    std::vector<uint32_t> operands;
    do {
      operands.push_back(select());
    } while (problem_.empty() && take(","));
    if (!problem_.empty()) return 0;
    if (!take(")")) return fail("')' is missing");
    for (const Function& known : kFunctions) {
      if (known.name != function) continue;
      if (operands.size() < known.least || operands.size() > known.most) {
        return fail("another number of arguments is needed");
      }
      return add({Op::kCall, 0, std::move(function), std::move(operands)});
    }
    return fail("there is no such function");
  }

  std::string_view text_;
  const std::string& place_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;
  Expression expression_;
};

}  // namespace

std::vector<std::string> Expression::names(Op op) const {
  std::vector<std::string> result;
  for (const Node& node : nodes) {
    const bool is_channel = node.op == Op::kChannel || node.op == Op::kChannels;
    if (node.op != op && !(op == Op::kCounter && is_channel)) continue;
    if (std::find(result.begin(), result.end(), node.text) == result.end()) {
      result.push_back(node.text);
    }
  }
  return result;
}

Result<Expression> parse_expression(std::string_view text, const std::string& place) {
  return Parser(text, place).parse();
}

}  // namespace sonde::metrics
