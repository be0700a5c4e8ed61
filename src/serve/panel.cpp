#include "serve/panel.h"

#include <algorithm>
#include <utility>

#include "analysis/analysis.h"
#include "base/strings.h"
#include "serve/options.h"
#include "serve/other_panels.h"
#include "trace/other_tools.h"

namespace sonde::serve {
namespace {

Result<analysis::Parameters> parameters_of(const analysis::Analysis& analysis, Taken& taken) {
  analysis::Parameters parameters(analysis.options);
  for (const analysis::Option& option : analysis.options) {
    const auto value = taken.text(option.name);
    if (!value) continue;
    if (option.value.empty() && *value != "yes")
      return wrong_option(option.name, "a flag is 'yes'");
    const bool allowed =
        option.choices.empty() ||
        std::find(option.choices.begin(), option.choices.end(), *value) != option.choices.end();
    if (!allowed) return wrong_option(option.name, "'" + *value + "' is not one of its values");
    parameters.set(option.name, *value);
  }
  return parameters;
}

}  // namespace

Result<std::string> panel_json(const Source& source, const std::string& name,
                               const PanelOptions& options) {
  Taken taken(options);
  Choice choice;
  if (is_other_panel(name)) {
    SONDE_ASSIGN(report::Report report, other_report(source, name, taken, choice));
    return finished(std::move(report), choice);
  }
  const analysis::Analysis* analysis = analysis::find_analysis(name);
  if (analysis == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "there is no such analysis", name);
  }
  SONDE_ASSIGN(const analysis::Parameters parameters, parameters_of(*analysis, taken));
  SONDE_TRY(take_choice(taken, analysis->needs(parameters), choice));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(const trace::Trace trace,
               trace::load_file(source.path, source.as, choice.request, choice.window));
  SONDE_ASSIGN(report::Report report, analysis->run(trace, parameters));
  return finished(std::move(report), choice);
}

Result<std::string> definition_json(const std::string& name) {
  const analysis::Analysis* analysis = analysis::find_analysis(name);
  if (analysis == nullptr) {
    return make_error(ErrorCode::kNotFound, "there is no such analysis", name);
  }
  return "{\"text\": " + json_quote(analysis->definition) + "}\n";
}

}  // namespace sonde::serve
