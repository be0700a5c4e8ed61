#include "metrics/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sonde::metrics {
namespace {

using Kind = Value::Kind;
constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

double at(const Value& value, size_t row) {
  return value.kind == Kind::kColumn ? (*value.column)[row] : value.number;
}

// Row by row, with numbers standing for columns of themselves. Nothing makes nothing.
template <typename Function>
Value combined(const std::vector<const Value*>& operands, Function function) {
  size_t rows = 0;
  bool any_column = false;
  for (const Value* operand : operands) {
    if (operand->kind == Kind::kNothing) return {};
    if (operand->kind != Kind::kColumn) continue;
    rows = any_column ? std::min(rows, operand->column->size()) : operand->column->size();
    any_column = true;
  }
  if (!any_column) return Value::of(function(0));
  std::vector<double> column(rows);
  for (size_t i = 0; i < rows; ++i) column[i] = function(i);
  return Value::of(std::move(column));
}

template <typename Function>
Value combined(const Value& a, const Value& b, Function function) {
  if (a.kind == Kind::kColumn && b.kind == Kind::kColumn) {
    const std::vector<double>&x = *a.column, &y = *b.column;
    return combined({&a, &b}, [&](size_t i) { return function(x[i], y[i]); });
  }
  return combined({&a, &b}, [&](size_t i) { return function(at(a, i), at(b, i)); });
}

double modulo(double a, double b) {  // with the sign of b
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value number_or_nothing(std::optional<double> number) {
  return Value::of(number.value_or(kNotKnown));
}

Value rounded(const Value& value, const Value& places) {
  if (places.kind != Kind::kNumber) return {};
  const double scale = std::pow(10, places.number);
  return combined({&value}, [&](size_t i) { return std::nearbyint(at(value, i) * scale) / scale; });
}

Value select(const Value& condition, const Value& yes, const Value& no) {
  return combined({&condition, &yes, &no},
                  [&](size_t i) { return at(condition, i) != 0 ? at(yes, i) : at(no, i); });
}

Value call(const std::string& function, const std::vector<const Value*>& operands) {
  const Value& first = *operands[0];
  // OR: the first that is anything, for counters that not every file has.
  if (function == "OR") return first.kind == Kind::kNothing ? *operands[1] : first;
  for (const Value* operand : operands) {
    if (operand->kind == Kind::kNothing) return {};
  }
  if (operands.size() == 2) {
    const Value& second = *operands[1];
    const auto least = [](double a, double b) {
      return std::isnan(a) || std::isnan(b) ? kNotKnown : std::min(a, b);
    };
    const auto most = [](double a, double b) {
      return std::isnan(a) || std::isnan(b) ? kNotKnown : std::max(a, b);
    };
    if (function == "MIN") return combined(first, second, least);
    if (function == "MAX") return combined(first, second, most);
    if (function == "MOD") return combined(first, second, modulo);
    if (function == "ROUND") return rounded(first, second);
    return number_or_nothing(quantile_of(first, second.number));
  }
  if (function == "AVG") return number_or_nothing(mean_of(first));
  if (function == "MIN") return number_or_nothing(min_of(first));
  if (function == "MAX") return number_or_nothing(max_of(first));
  if (function == "MEDIAN") return number_or_nothing(quantile_of(first, 0.5));
  if (function == "STD") return number_or_nothing(deviation_of(first));
  // TO_INT: columns are counts already
  return first.kind == Kind::kColumn ? first : Value::of(std::trunc(first.number));
}

std::vector<double> known(const Value& value) {
  std::vector<double> result;
  if (value.kind == Kind::kNumber && !std::isnan(value.number)) result.push_back(value.number);
  if (value.kind != Kind::kColumn) return result;
  for (const double number : *value.column) {
    if (!std::isnan(number)) result.push_back(number);
  }
  return result;
}

}  // namespace

Value Value::of(std::vector<double> column) {
  return {Kind::kColumn, 0, std::make_shared<const std::vector<double>>(std::move(column))};
}

std::optional<double> mean_of(const Value& value) {
  const std::vector<double> numbers = known(value);
  if (numbers.empty()) return std::nullopt;
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

std::optional<double> min_of(const Value& value) {
  const std::vector<double> numbers = known(value);
  if (numbers.empty()) return std::nullopt;
  return *std::min_element(numbers.begin(), numbers.end());
}

std::optional<double> max_of(const Value& value) {
  const std::vector<double> numbers = known(value);
  if (numbers.empty()) return std::nullopt;
  return *std::max_element(numbers.begin(), numbers.end());
}

std::optional<double> quantile_of(const Value& value, double share) {
  std::vector<double> numbers = known(value);
  if (numbers.empty() || !(share >= 0 && share <= 1)) return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  const double place = share * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<size_t>(place);
  if (below + 1 >= numbers.size()) return numbers.back();
  const double a = numbers[below], b = numbers[below + 1];
  const double part = place - static_cast<double>(below);
  if (part == 0 || a == b) return a;
  return part >= 0.5 ? b - (b - a) * (1 - part) : a + (b - a) * part;
}

std::optional<double> deviation_of(const Value& value) {
  if (value.kind == Kind::kNumber) return mean_of(value);
  const std::vector<double> numbers = known(value);
  if (numbers.size() < 2) return std::nullopt;
  const double mean = *mean_of(value);
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return std::sqrt(squares / static_cast<double>(numbers.size() - 1));
}

Evaluator::Evaluator(const Definitions& definitions, const Workload& workload, std::string per)
    : definitions_(definitions), workload_(workload), per_(std::move(per)) {}

const Column* Evaluator::counter(std::string_view name, const std::string& pass,
                                 std::string* found) const {
  const CounterTable* table = &workload_.main;
  std::string accumulated;
  if (!pass.empty()) {
    if (const auto own = workload_.passes.find(pass); own != workload_.passes.end()) {
      table = &own->second;
    } else if (workload_.main.find(pass + "_ACCUM") == nullptr) {
      return nullptr;
    } else if (name == "SQ_ACCUM_PREV_HIRES") {  // newer files hold all passes in one table
      accumulated = pass + "_ACCUM";
      name = accumulated;
    }
  }
  if (found != nullptr) *found = name;
  if (const Column* column = table->find(name)) return column;
  for (const auto& [new_part, old_part] : definitions_.renamed) {
    if (name.substr(0, new_part.size()) != new_part) continue;
    const std::string old = old_part + std::string(name.substr(new_part.size()));
    if (found != nullptr) *found = old;
    return table->find(old);
  }
  return nullptr;
}

// The channels of the file, whatever their number: [0], [1] and so on while there are any.
Value Evaluator::channels(const std::string& name, const std::string& pass) {
  std::vector<double> sum;
  const auto facts = workload_.facts.find("total_l2_chan");
  if (facts == workload_.facts.end()) return {};
  for (int channel = 0; channel < facts->second; ++channel) {
    const Column* column = counter(fmt::format("{}[{}]", name, channel), pass);
    if (column == nullptr) return {};
    if (sum.empty()) sum.resize((*column)->size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += (**column)[i];
  }
  return sum.empty() ? Value() : Value::of(std::move(sum));
}

Value Evaluator::variable(const std::string& name, const std::string& pass) {
  if (const auto fact = workload_.facts.find(name); fact != workload_.facts.end()) {
    return Value::of(fact->second);
  }
  const Variable* shared = nullptr;
  const Expression* formula = nullptr;
  if (const auto found = definitions_.variables.find(name); found != definitions_.variables.end()) {
    shared = &found->second;
    formula = &found->second.formula;
  } else if (const auto per = definitions_.per.find(per_);
             name == "per" && per != definitions_.per.end()) {
    formula = &per->second;
  }
  if (formula == nullptr) return {};
  const std::string from = shared != nullptr && shared->main ? std::string() : pass;
  const auto known = variables_.find({name, from});
  if (known != variables_.end()) return known->second;
  const Value value = evaluate(*formula, from);
  variables_.emplace(std::pair(name, from), value);
  return value;
}

Value Evaluator::node(const Node& node, const std::vector<Value>& values, const std::string& pass,
                      int channel) {
  const auto operand = [&](size_t i) -> const Value& { return values[node.operands[i]]; };
  const auto of_counter = [&](std::string_view name) {
    const Column* column = counter(name, pass);
    return column == nullptr ? Value() : Value{Kind::kColumn, 0, *column};
  };
  const auto arithmetic = [&](auto function) { return combined(operand(0), operand(1), function); };
  switch (node.op) {
    case Op::kNumber:
      return Value::of(node.number);
    case Op::kNone:
      return Value::of(kNotKnown);
    case Op::kCounter:
      return of_counter(node.text);
    case Op::kChannel: {
      const int which = node.number < 0 ? channel : static_cast<int>(node.number);
      return of_counter(fmt::format("{}[{}]", node.text, which));
    }
    case Op::kChannels:
      return channels(node.text, pass);
    case Op::kVariable:
      return variable(node.text, pass);
    case Op::kNegate:
      return combined({&operand(0)}, [&](size_t i) { return -at(operand(0), i); });
    case Op::kAdd:
      return arithmetic(std::plus<>());
    case Op::kSubtract:
      return arithmetic(std::minus<>());
    case Op::kMultiply:
      return arithmetic(std::multiplies<>());
    case Op::kDivide:
      return arithmetic(std::divides<>());
    case Op::kEqual:
      return arithmetic([](double a, double b) { return a == b ? 1.0 : 0.0; });
    case Op::kNotEqual:
      return arithmetic([](double a, double b) { return a != b ? 1.0 : 0.0; });
    case Op::kLess:
      return arithmetic([](double a, double b) { return a < b ? 1.0 : 0.0; });
    case Op::kGreater:
      return arithmetic([](double a, double b) { return a > b ? 1.0 : 0.0; });
    case Op::kLessEqual:
      return arithmetic([](double a, double b) { return a <= b ? 1.0 : 0.0; });
    case Op::kGreaterEqual:
      return arithmetic([](double a, double b) { return a >= b ? 1.0 : 0.0; });
    case Op::kSelect:
      return select(operand(0), operand(1), operand(2));
    case Op::kCall:
      break;
  }
  std::vector<const Value*> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) operands.push_back(&operand(i));
  return call(node.text, operands);
}

Value Evaluator::evaluate(const Expression& expression, const std::string& pass, int channel) {
  if (expression.empty()) return {};
  std::vector<Value> values;
  values.reserve(expression.nodes.size());
  for (const Node& one : expression.nodes) values.push_back(node(one, values, pass, channel));
  return values.back();
}

}  // namespace sonde::metrics
