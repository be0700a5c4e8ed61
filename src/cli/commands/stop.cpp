// sonde stop: see start.cpp.
#include "cli/command.h"
#include "cli/common.h"
#include "cli/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  return switch_recordings(arguments, wire::Asked::kOff);
}

constexpr const char* kText = R"(
stop - Switch a running recording off; its program goes on

Switches recording off in all processes of a recording, at once, until sonde start. The program goes
on, and the trace is finished when it ends. Calls that have begun are still recorded, with their
end.

Arguments:
[WHICH...]

Options:
--all

Examples:
sonde stop 4711  the recording that process 4711 belongs to
)";

}  // namespace

Command stop_command() { return make_command(kText, run); }

}  // namespace sonde::cli
