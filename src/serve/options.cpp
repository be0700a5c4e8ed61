#include "serve/options.h"

#include "base/printable.h"
#include "base/strings.h"
#include "report/render.h"
#include "report/sort.h"

namespace sonde::serve {

Error wrong_option(const std::string& option, const std::string& what) {
  return make_error(ErrorCode::kInvalidArgument, what, "--" + option);
}

std::optional<std::string> Taken::text(const std::string& name) {
  const auto found = left_.find(name);
  if (found == left_.end()) return {};
  std::string value = std::move(found->second);
  left_.erase(found);
  return value;
}

Result<std::optional<int64_t>> Taken::number(const std::string& name) {
  const auto value = text(name);
  if (!value) return std::optional<int64_t>();
  const auto number = parse_int(*value);
  if (!number || *number < 0) return wrong_option(name, "'" + *value + "' is not a whole number");
  return number;
}

Status Taken::all_known() const {
  return left_.empty() ? ok_status()
                       : wrong_option(left_.begin()->first, "is no option of this panel");
}

trace::WindowText window_of(Taken& taken) {
  return {taken.text("from"), taken.text("to"), taken.text("window")};
}

Status take_choice(Taken& taken, const trace::Request& needs, Choice& choice) {
  choice.window = window_of(taken);
  SONDE_TRY(trace::check_window(choice.window));
  choice.request = needs;
  const std::string by_name = needs.ops ? "kernel" : "name";
  if (const auto pattern = needs.explains_idle ? std::nullopt : taken.text(by_name)) {
    SONDE_ASSIGN(choice.names, trace::NameFilter::compile(*pattern, "--" + by_name));
  }
  (needs.ops ? choice.request.op_names : choice.request.api_names) = &choice.names;
  SONDE_ASSIGN(choice.request.gpu, taken.number("gpu"));
  SONDE_ASSIGN(choice.request.rank, taken.number("rank"));
  choice.sort = taken.text("sort");
  SONDE_ASSIGN(choice.limit, taken.number("limit"));
  return take_format(taken, choice);
}

Status take_format(Taken& taken, Choice& choice) {
  choice.format = taken.text("format").value_or(choice.format);
  if (choice.format != "json" && choice.format != "svg") {
    return wrong_option("format", "is json or svg");
  }
  return ok_status();
}

Result<std::string> finished(report::Report report, const Choice& choice) {
  if (choice.sort && !report.sections.empty()) {
    SONDE_TRY(report::sort_table(report.sections.front().table, *choice.sort));
  }
  report::limit_tables(report, static_cast<size_t>(choice.limit.value_or(0)),
                       choice.limit.has_value());
  std::string text = report::find_renderer(choice.format)->render(report, {});
  std::string safe;  // as what is printed
  return is_safe_output(text, safe) ? text : safe;
}

}  // namespace sonde::serve
