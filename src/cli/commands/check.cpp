#include <algorithm>
#include <span>

#include "analysis/findings/findings.h"
#include "base/number.h"
#include "cli/common.h"
#include "cli/finding_names.h"
#include "trace/other_tools.h"

namespace sonde::cli {
namespace {

constexpr int kFoundSomething = 3;

Result<double> least_percentage(const Arguments& arguments) {
  const std::string text = arguments.value_or("least", "5");
  const auto value = number_in<double>(text);
  if (!value || !(*value >= 0 && *value <= 100)) {
    return make_error(ErrorCode::kInvalidArgument, "'" + text + "' is not a percentage", "--least",
                      "give a number from 0 to 100");
  }
  return *value;
}

Result<std::vector<std::string>> fatal_findings(const Arguments& arguments) {
  const auto text = arguments.value("fail-on");
  if (!text) return std::vector<std::string>();
  return chosen_findings(*text, "--fail-on");
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto least, least_percentage(arguments));
  SONDE_ASSIGN(const auto fatal, fatal_findings(arguments));
  SONDE_ASSIGN(const auto choice, choice_of(arguments, analysis::findings_needs()));
  trace::Request request = analysis::findings_needs();
  choice.apply(request);
  SONDE_ASSIGN(auto traces, load_traces(arguments, request));
  const std::vector<analysis::Pace> paces = analysis::leave_out_warm_up(traces);
  auto all = analysis::all_findings_of(traces);  // the largest saving first
  const auto is_large = [&](const auto& finding) {
    return finding.saving_ns != 0 && finding.saving_percentage() >= least;
  };
  const size_t listed = analysis::put_small_behind(all, least);
  const std::span findings = std::span(all).first(listed),
                  left_out = std::span(all).subspan(listed);
  report::Report report = analysis::findings_report(traces, paces, findings, left_out);
  report.definition = analysis::findings_definition();
  SONDE_ASSIGN(const int status, print_report(arguments, std::move(report)));
  const bool found = std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
    return is_large(finding) && std::find(fatal.begin(), fatal.end(), finding.id) != fatal.end();
  });
  return status == 0 && found ? kFoundSomething : status;
}

constexpr const char* kText = R"(
check - List the biggest performance problems and what to try

Shows what ran and in which steps, then the findings that matter, largest saving first: how much
time each could save, the figures behind it, what to try, and which command shows more. Give the
traces of several ranks together.

With --fail-on the exit status is 3 if the trace has one of these findings, so that a test can guard
a program's performance.

Arguments:
FILE...

Options:
--as
--least PERCENT  leave out findings that could save less of the GPUs' time [5]
--fail-on LIST  exit with 3 on these findings, e.g. waits,launch-bound, or any [none]
--gpu --rank
--from --to --window
--format --limit --sort --full-names --exact --table --explain

Examples:
sonde check trace.rpd  what to look at first
sonde check --fail-on exposed-copies --least 10 trace.rpd
    fails where copies that could be hidden cost a tenth of the time
sonde check rank*.json.gz  all ranks of a job: who is late, too
)";

}  // namespace

Command check_command() { return make_command(kText, run, analysis::findings_definition()); }

}  // namespace sonde::cli
