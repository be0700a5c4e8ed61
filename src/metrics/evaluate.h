// Formulas evaluated over the dispatches of a workload. Used by panels.h and roofline.h.
//
// A value is nothing, a number, or a column with a number for each dispatch. What uses a counter
// that was not read is nothing. Arithmetic is that of IEEE; NaN in a column means that the dispatch
// has no value, and figures over a column skip it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/definitions.h"
#include "metrics/workload/workload.h"

namespace sonde::metrics {

struct Value {
  enum class Kind { kNothing, kNumber, kColumn };
  Kind kind = Kind::kNothing;
  double number = 0;
  Column column = nullptr;

  static Value of(double number) { return {Kind::kNumber, number, nullptr}; }
  static Value of(std::vector<double> column);
};

// Figures over a value; a number is its own. nullopt: nothing known.
std::optional<double> mean_of(const Value& value);
std::optional<double> min_of(const Value& value);
std::optional<double> max_of(const Value& value);
std::optional<double> quantile_of(const Value& value, double share);  // linear between neighbours
std::optional<double> deviation_of(const Value& value);               // of a sample: n - 1

class Evaluator {
 public:
  // `per` is a key of Definitions::per. Both must outlive the evaluator.
  Evaluator(const Definitions& definitions, const Workload& workload, std::string per);

  // Over the counters of `pass` ("" = the main ones); [channel] means `channel`.
  Value evaluate(const Expression& expression, const std::string& pass, int channel = -1);
  Value variable(const std::string& name, const std::string& pass);
  // nullptr: not read. `found` is what the workload calls it.
  const Column* counter(std::string_view name, const std::string& pass,
                        std::string* found = nullptr) const;

 private:
  Value node(const Node& node, const std::vector<Value>& values, const std::string& pass,
             int channel);
  Value channels(const std::string& name, const std::string& pass);

  const Definitions& definitions_;
  const Workload& workload_;
  std::string per_;
  std::map<std::pair<std::string, std::string>, Value> variables_;  // by name and pass
};

}  // namespace sonde::metrics
