// sonde start, stop and status: switch recordings that are at work, and say which there are.

#include "cli/command.h"
#include "cli/common.h"
#include "cli/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  return switch_recordings(arguments, wire::Asked::kOn);
}

constexpr const char* kText = R"(
start - Switch a running recording on; also stop, mark, snapshot and status

Switches recording on in a recording that sonde record --no-start began, or that sonde stop switched
off: at once, in all threads of all its processes. sonde stop switches it off again. You can do so
as often as you like; everything is in one trace. The program's own calls (sonde_start,
roctracer_start ...) have effect only until the first sonde start or stop.

WHICH is a process of the recording, or the trace that it writes, by its path or name. It can be
left out where only one is in progress. Recordings of other users cannot be seen.

Arguments:
[WHICH...]

Options:
--all

Examples:
sonde record --no-start -o serving.rpd -- ./server  records nothing yet
sonde start serving  from another terminal: record from now on
sonde stop serving  and no longer
sonde status  which recordings are in progress?
)";

}  // namespace

Command start_command() { return make_command(kText, run); }

}  // namespace sonde::cli
