#include "analysis/analysis.h"

#include "base/check.h"
#include "base/strings.h"

namespace sonde::analysis {

Parameters::Parameters(const std::vector<Option>& options) {
  for (const Option& option : options) values_[option.name] = option.fallback;
}

const std::string& Parameters::text(const std::string& option) const {
  static const std::string kUnset;
  const auto found = values_.find(option);
  return found == values_.end() ? kUnset : found->second;
}

Result<int64_t> Parameters::duration_ns(const std::string& option) const {
  const auto value = parse_duration_ns(text(option), 1);
  if (!value || *value < 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + text(option) + "' is not a time",
                      "--" + option, "like 30us, 1.5ms or 2s");
  }
  return *value;
}

Result<int64_t> Parameters::count(const std::string& option) const {
  const auto value = parse_int(text(option));
  if (!value || *value < 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + text(option) + "' is not a whole number",
                      "--" + option);
  }
  return *value;
}

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis& analysis : all_analyses()) {
    if (analysis.name == name) return &analysis;
  }
  return nullptr;
}

trace::Request needs_of(std::string_view name) {
  const Analysis* analysis = find_analysis(name);
  SONDE_CHECK(analysis != nullptr);
  return analysis->needs(Parameters(analysis->options));
}

Result<report::Report> run_analysis(std::string_view name, const trace::Trace& trace) {
  const Analysis* analysis = find_analysis(name);
  SONDE_CHECK(analysis != nullptr);
  return analysis->run(trace, Parameters(analysis->options));
}

}  // namespace sonde::analysis
