#include "serve/panel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/analysis.h"
#include "base/printable.h"
#include "base/strings.h"
#include "report/render.h"
#include "report/sort.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

Error wrong(const std::string& option, const std::string& what) {
  return make_error(ErrorCode::kInvalidArgument, what, "--" + option);
}

// Takes options out as they are understood: what is left is not known.
class Taken {
 public:
  explicit Taken(PanelOptions options) : left_(std::move(options)) {}

  std::optional<std::string> text(const std::string& name) {
    const auto found = left_.find(name);
    if (found == left_.end()) return {};
    std::string value = std::move(found->second);
    left_.erase(found);
    return value;
  }
  Result<std::optional<int64_t>> number(const std::string& name) {
    const auto value = text(name);
    if (!value) return std::optional<int64_t>();
    const auto number = parse_int(*value);
    if (!number || *number < 0) return wrong(name, "'" + *value + "' is not a whole number");
    return number;
  }
  Status all_known() const {
    return left_.empty() ? ok_status() : wrong(left_.begin()->first, "is no option of this panel");
  }

 private:
  PanelOptions left_;
};

Result<analysis::Parameters> parameters_of(const analysis::Analysis& analysis, Taken& taken) {
  analysis::Parameters parameters(analysis.options);
  for (const analysis::Option& option : analysis.options) {
    const auto value = taken.text(option.name);
    if (!value) continue;
    if (option.value.empty() && *value != "yes") return wrong(option.name, "a flag is 'yes'");
    const bool allowed =
        option.choices.empty() ||
        std::find(option.choices.begin(), option.choices.end(), *value) != option.choices.end();
    if (!allowed) return wrong(option.name, "'" + *value + "' is none of its values");
    parameters.set(option.name, *value);
  }
  return parameters;
}

std::string bytes_of(const report::Report& report) {
  std::string text = report::find_renderer("json")->render(report, {});
  std::string safe;  // as what is printed
  return is_safe_output(text, safe) ? text : safe;
}

}  // namespace

Result<std::string> panel_json(const Source& source, const std::string& name,
                               const PanelOptions& options) {
  const analysis::Analysis* analysis = analysis::find_analysis(name);
  if (analysis == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "there is no such analysis", name);
  }
  Taken taken(options);
  const trace::WindowText window = {taken.text("from"), taken.text("to"), taken.text("window")};
  SONDE_TRY(trace::check_window(window));
  SONDE_ASSIGN(const analysis::Parameters parameters, parameters_of(*analysis, taken));
  trace::Request request = analysis->needs(parameters);
  trace::NameFilter names;
  const std::string by_name = request.ops ? "kernel" : "name";
  if (const auto pattern = taken.text(by_name)) {
    SONDE_ASSIGN(names, trace::NameFilter::compile(*pattern, "--" + by_name));
  }
  (request.ops ? request.op_names : request.api_names) = &names;
  SONDE_ASSIGN(request.gpu, taken.number("gpu"));
  SONDE_ASSIGN(request.rank, taken.number("rank"));
  const auto sort = taken.text("sort");
  SONDE_ASSIGN(const auto limit, taken.number("limit"));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(const trace::Trace trace, trace::load_file(source.path, source.as, request, window));
  SONDE_ASSIGN(report::Report report, analysis->run(trace, parameters));
  if (sort && !report.sections.empty()) {
    SONDE_TRY(report::sort_table(report.sections.front().table, *sort));
  }
  report::limit_tables(report, static_cast<size_t>(limit.value_or(0)), limit.has_value());
  return bytes_of(report);
}

}  // namespace sonde::serve
