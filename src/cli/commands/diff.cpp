#include "analysis/diff/diff.h"

#include "cli/common.h"

namespace sonde::cli {

namespace {

constexpr const char* kText = R"(
diff - Show what changed between two traces

Compares the traces A and B: the verdict, what explains the difference of their wall times, and
every kernel and operator that is new, gone, or takes a different time.

Arguments:
TRACE...  two files, A and B: .rpd of any version, or traces of other tools

Examples:
sonde diff before.rpd after.rpd  what made it slower or faster
sonde diff a.json b.json --from 20% --to 80% --format json
    the same for a part of each, for a script
)";

}  // namespace

Command diff_command() {
  Command command = joint_command({.text = kText,
                                   .definition = analysis::kDiffDefinition,
                                   .needs = analysis::diff_needs,
                                   .report_of =
                                       [](std::span<const trace::Trace> traces) {
                                         return analysis::diff_report(traces[0], traces[1]);
                                       },
                                   .compares_runs = true});
  command.run = [ask = command.run](const Arguments& arguments) -> Result<int> {
    if (arguments.positionals().size() == 2) return ask(arguments);
    return make_error(ErrorCode::kInvalidArgument, "needs two traces", "A B",
                      "sonde diff before.rpd after.rpd");
  };
  return command;
}

}  // namespace sonde::cli
