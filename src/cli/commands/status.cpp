// sonde status: the recordings that are at work.
#include "cli/command.h"
#include "cli/common.h"
#include "cli/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) { return print_report(arguments, status_report(), 0); }

constexpr const char* kText = R"(
status - List the recordings in progress, and whether they are switched on

Lists your recordings on this machine, the newest first: the trace, whether it is being recorded,
and the processes.

Options:
--format

Examples:
sonde status  what is being recorded?
sonde status --format json  for a script
)";

}  // namespace

Command status_command() { return make_command(kText, run); }

}  // namespace sonde::cli
