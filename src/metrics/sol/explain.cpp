#include <set>

#include "metrics/sol/report.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
using report::Kind;

report::Value value_of(std::optional<double> number) {
  return number ? report::Value(*number) : report::Value();
}

// A row for each counter and variable that a formula uses, those of variables indented below them.
class Inputs {
 public:
  Inputs(const Definitions& definitions, Evaluator& evaluator, report::Table& table)
      : definitions_(definitions), evaluator_(evaluator), table_(table) {}

  void add(const Expression& expression, const std::string& pass, int64_t depth) {
    for (const Node& node : expression.nodes) {
      if (node.op == Op::kVariable) variable(node.text, pass, depth);
      if (node.op == Op::kCounter && is_new(node.text, pass)) {
        std::string found;
        const Column* column = evaluator_.counter(node.text, pass, &found);
        const Value value = column == nullptr ? Value() : Value{Value::Kind::kColumn, 0, *column};
        const std::string what = found == node.text ? "counter" : "counter " + found;
        row(node.text, column == nullptr ? "counter, not read" : what, value, depth);
      }
      if ((node.op == Op::kChannel || node.op == Op::kChannels) && is_new(node.text, pass)) {
        row(node.text + "[]", "counter of each channel", Value(), depth);
      }
    }
  }

 private:
  bool is_new(const std::string& name, const std::string& pass) {
    return seen_.insert(name + '\n' + pass).second;
  }

  void variable(const std::string& name, const std::string& pass, int64_t depth) {
    if (!is_new("$" + name, pass)) return;
    const auto found = definitions_.variables.find(name);
    const bool is_fact = found == definitions_.variables.end();
    row("$" + name, is_fact ? "of the GPU" : found->second.formula.source,
        evaluator_.variable(name, pass), depth);
    if (!is_fact) add(found->second.formula, found->second.main ? "" : pass, depth + 1);
  }

  void row(const std::string& name, const std::string& what, const Value& value, int64_t depth) {
    table_.add_row({std::string(static_cast<size_t>(2 * depth), ' ') + name,
                    value_of(mean_of(value)), value_of(min_of(value)), value_of(max_of(value)),
                    what});
  }

  const Definitions& definitions_;
  Evaluator& evaluator_;
  report::Table& table_;
  std::set<std::string> seen_;
};

}  // namespace

Result<report::Report> explain_metric(const Definitions& definitions, const Workload& workload,
                                      const std::string& name, const SolOptions& options) {
  const Metric* metric = definitions.find(name);
  if (metric == nullptr) {
    return make_error(ErrorCode::kNotFound,
                      "there is no metric '" + name + "' of " + definitions.gpu, "--explain",
                      "give an id like 2.1.20 or a name");
  }
  report::Report report;
  report.name = "sol";
  report.subject = workload.path;
  report.warnings = workload.warnings;
  Evaluator evaluator(definitions, workload, options.per);
  report::Section section{.key = "metric", .title = metric->id + " " + metric->name};
  const auto fact = [&](const char* key, const char* title, const std::string& text) {
    if (!text.empty()) section.facts.push_back({key, title, Kind::kText, text});
  };
  fact("id", "Id", metric->id);
  fact("name", "Name", metric->name);
  fact("about", "Meaning", metric->about);
  fact("unit", "Unit", metric->unit);
  fact("formula", "Of one dispatch", metric->each.source);
  fact("peak", "Peak", metric->peak.source);
  fact("pass", "Counters of", metric->pass);
  const Value value = evaluator.evaluate(metric->each, metric->pass);
  section.facts.push_back({"avg", "Avg", Kind::kReal, value_of(mean_of(value))});
  section.facts.push_back({"peak_value", "Peak is", Kind::kReal,
                           value_of(mean_of(evaluator.evaluate(metric->peak, "")))});
  report::Table& table = section.table;
  table.add_columns({text("input", "Input"), real("mean", "Mean"), real("min", "Min"),
                     real("max", "Max"), text("what", "What")});
  Inputs inputs(definitions, evaluator, table);
  inputs.add(metric->each, metric->pass, 0);
  inputs.add(metric->peak, "", 0);
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace sonde::metrics
