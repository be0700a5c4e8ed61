#include "analysis/collectives/collectives.h"

#include "cli/common.h"
#include "cli/terminal.h"
#include "trace/other_tools.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return print_definition(analysis::kCollectivesDefinition);
  trace::Request request = analysis::collectives_needs();
  const auto choice = choice_of(arguments, request);
  if (!choice) return usage_error("collectives", choice.error());
  choice->apply(request);
  std::vector<trace::Trace> traces;
  for (const std::string& path : arguments.positionals()) {
    SONDE_ASSIGN(trace::Trace trace, trace::load_file(path, arguments.value_or("as", ""), request,
                                                      window_text(arguments)));
    traces.push_back(std::move(trace));
  }
  report::Report report = analysis::collectives_report(traces);
  if (arguments.flag("explain")) report.definition = analysis::kCollectivesDefinition;
  return print_report(arguments, std::move(report));
}

}  // namespace

const Command& collectives_command() {
  static const Command kCommand = [] {
    Command command;
    command.name = "collectives";
    command.group = "Ask";
    command.summary = "Show how fast collective operations were, and which ranks were late";
    command.description =
        "Latency, bandwidth and skew of the collectives of NCCL, RCCL and others, by "
        "communicator, operation and size, and which rank the others waited for. Give the traces "
        "of several ranks together.";
    Positional files = trace_file();
    files.repeated = true;
    command.positionals = {files};
    command.options = joined(joined(joined({as_option()}, window_options()),
                                    choice_options(analysis::collectives_needs())),
                             report_options());
    command.examples = {
        {"sonde collectives trace.rpd", "of all processes of a recording"},
        {"sonde collectives rank0.json rank1.json", "of two ranks, with skew and straggler"}};
    command.run = run;
    command.definition =
        std::string(analysis::kCollectivesDefinition) + "\n" + trace::kWindowDefinition;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
