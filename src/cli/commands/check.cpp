#include <algorithm>
#include <charconv>

#include "analysis/findings.h"
#include "base/strings.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

constexpr int kFoundSomething = 3;

Result<double> least_percentage(const Arguments& arguments) {
  const std::string text = arguments.value_or("least", "5");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 100)) {
    return make_error(ErrorCode::kInvalidArgument, "'" + text + "' is no percentage", "--least",
                      "give a number from 0 to 100");
  }
  return value;
}

Result<std::vector<std::string>> fatal_findings(const Arguments& arguments) {
  const auto text = arguments.value("fail-on");
  if (!text) return std::vector<std::string>();
  const std::vector<std::string> known = analysis::finding_ids();
  if (*text == "any") return known;
  std::vector<std::string> fatal;
  for (const std::string_view part : split(*text, ',')) {
    const std::string id(trim(part));
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      std::string names = "any";
      for (const std::string& name : known) names += ", " + name;
      return make_error(ErrorCode::kInvalidArgument, "no finding is called '" + id + "'",
                        "--fail-on", "there are: " + names);
    }
    fatal.push_back(id);
  }
  return fatal;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return print_definition(analysis::findings_definition());
  const auto least = least_percentage(arguments);
  if (!least) return usage_error("check", least.error());
  const auto fatal = fatal_findings(arguments);
  if (!fatal) return usage_error("check", fatal.error());
  SONDE_ASSIGN(const Choice choice, choice_of(arguments, analysis::findings_needs()));
  trace::Request request = analysis::findings_needs();
  choice.apply(request);
  SONDE_ASSIGN(const trace::Trace trace, load_trace(arguments, request));
  const auto findings = analysis::findings_of(trace, *least);
  report::Report report = analysis::findings_report(trace, findings);
  if (arguments.flag("explain")) report.definition = analysis::findings_definition();
  SONDE_ASSIGN(const int status, print_report(arguments, std::move(report)));
  const bool found = std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
    return std::find(fatal->begin(), fatal->end(), finding.id) != fatal->end();
  });
  return status == 0 && found ? kFoundSomething : status;
}

}  // namespace

const Command& check_command() {
  static const Command kCommand = [] {
    Command command;
    command.name = "check";
    command.group = "Ask";
    command.summary = "Say what costs time and could be otherwise";
    command.description =
        "The findings that matter in a trace, the dearest first: what it costs, the figures behind "
        "it, what to try, and which command shows more.\n\n"
        "With --fail-on the exit status is 3 if one of these findings is there, so that a test can "
        "guard a program's performance.";
    command.positionals = {trace_file()};
    command.options =
        joined(joined({as_option(),
                       {"--least", "PERCENT", "leave out what costs less of the GPUs' time", "5"},
                       {"--fail-on", "LIST",
                        "exit with 3 on these findings, e.g. waits,launch-bound, or any", ""}},
                      joined(choice_options(analysis::findings_needs()), window_options())),
               report_options());
    command.examples = {{"sonde check trace.rpd", "what to look at first"},
                        {"sonde check --fail-on exposed-copies --least 10 trace.rpd",
                         "fails where copies cost a tenth of the time"}};
    command.run = run;
    command.definition = analysis::findings_definition() + "\n" + trace::kWindowDefinition;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
