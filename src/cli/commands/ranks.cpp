#include "analysis/ranks/ranks.h"

#include "cli/common.h"
#include "cli/terminal.h"
#include "trace/other_tools.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return print_definition(analysis::kRanksDefinition);
  trace::Request request = analysis::ranks_needs();
  const auto choice = choice_of(arguments, request);
  if (!choice) return usage_error("ranks", choice.error());
  choice->apply(request);
  std::vector<trace::Trace> traces;
  for (const std::string& path : arguments.positionals()) {
    SONDE_ASSIGN(trace::Trace trace, trace::load_file(path, arguments.value_or("as", ""), request,
                                                      window_text(arguments)));
    traces.push_back(std::move(trace));
  }
  report::Report report = analysis::ranks_report(traces);
  if (arguments.flag("explain")) report.definition = analysis::kRanksDefinition;
  return print_report(arguments, std::move(report));
}

}  // namespace

const Command& ranks_command() {
  static const Command kCommand = [] {
    Command command;
    command.name = "ranks";
    command.group = "Ask";
    command.summary = "Compare the GPUs of several ranks";
    command.description =
        "Compute, exposed communication, copies and idle time of each rank side by side, with the "
        "minimum, the median and the maximum of each. Give the traces of several ranks together.";
    Positional files = trace_file();
    files.repeated = true;
    command.positionals = {files};
    command.options = joined(
        joined(joined({as_option()}, window_options()), choice_options(analysis::ranks_needs())),
        report_options());
    command.examples = {{"sonde ranks trace.rpd", "all processes of a recording"},
                        {"sonde ranks rank*.json.gz", "one trace of each rank"}};
    command.run = run;
    command.definition = std::string(analysis::kRanksDefinition) + "\n" + trace::kWindowDefinition;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
