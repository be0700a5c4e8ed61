#include "analysis/diff/diff.h"

#include "base/strings.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "trace/other_tools.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return print_definition(analysis::kDiffDefinition);
  if (arguments.positionals().size() != 2) {
    return usage_error("diff", make_error(ErrorCode::kInvalidArgument, "needs two traces", "A B",
                                          "sonde diff before.rpd after.rpd"));
  }
  trace::Request request = analysis::diff_needs();
  const auto choice = choice_of(arguments, request);
  if (!choice) return usage_error("diff", choice.error());
  choice->apply(request);
  const std::string as = arguments.value_or("as", "");
  const auto load = [&](size_t i) {
    return trace::load_file(arguments.positionals()[i], as, request, window_text(arguments));
  };
  SONDE_ASSIGN(const trace::Trace a, load(0));
  SONDE_ASSIGN(const trace::Trace b, load(1));
  report::Report report = analysis::diff_report(a, b);
  if (arguments.flag("explain")) report.definition = analysis::kDiffDefinition;
  return print_report(arguments, std::move(report));
}

}  // namespace

const Command& diff_command() {
  static const Command kCommand = [] {
    Command command;
    command.name = "diff";
    command.group = "Ask";
    command.summary = "Show what changed between two traces";
    command.description =
        "Compares the traces A and B: the verdict, what explains the difference of their wall "
        "times, and every kernel and operator that is new, gone, or takes a different time.";
    command.positionals = {
        {"TRACE", "two files, A and B: .rpd of any version, or traces of other tools", true, true}};
    command.options = joined(
        joined(joined({as_option()}, window_options()), choice_options(analysis::diff_needs())),
        report_options());
    command.examples = {{"sonde diff before.rpd after.rpd", "what made it slower or faster"},
                        {"sonde diff a.json b.json --from 20% --to 80% --format json",
                         "the same for a part of each, for a script"}};
    command.run = run;
    command.definition = std::string(analysis::kDiffDefinition) + "\n" + trace::kWindowDefinition;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
