#include "analysis/page/info.h"

#include "cli/common.h"
#include "report/render.h"
#include "trace/file_info.h"

namespace sonde::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(auto reader, open_trace(arguments));
  SONDE_ASSIGN(const trace::FileInfo info, trace::file_info(reader));
  const report::Renderer* const renderer =
      report::find_renderer(arguments.value_or("format", "text"));
  analysis::InfoOptions options;
  options.environment = arguments.flag("environment");
  options.long_metadata = arguments.flag("metadata") || !renderer->for_people;
  return print_report(arguments, analysis::info_report(info, options), 0);
}

constexpr const char* kText = R"(
info - Show what a trace file is and what it contains

Shows the file's format and who made it (also for a trace of another tool), the recorded processes
with their commands and how they ended, devices, time span, number of rows, and everything the
recorder reported. This command and every other one print drops and errors as warnings.

Arguments:
FILE

Options:
--as --format --table
--metadata  show long metadata whole, and every process (csv and json always do)
--environment  also list the environment of the recording (secrets left out)

Examples:
sonde info trace.rpd  the overview
sonde info trace.rpd --format json | jq .processes  the processes, for a script
)";

}  // namespace

Command info_command() { return make_command(kText, run); }

}  // namespace sonde::cli
