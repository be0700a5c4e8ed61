// sonde stop: see start.cpp.
#include "cli/command.h"
#include "cli/common.h"
#include "cli/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  return switch_recordings(arguments, wire::Asked::kOff);
}

}  // namespace

Command stop_command() {
  return {
      .name = "stop",
      .summary = "Switch a running recording off; its program goes on",
      .description =
          "Switches recording off in all processes of a recording, at once, until sonde start. The "
          "program goes on, and the trace is finished when it ends. Calls that have begun are still "
          "recorded, with their end.",
      .positionals = {{"WHICH", "a process or a trace, e.g. 4711 or trace.rpd", false, true}},
      .options = {{"--all", "", "all recordings of yours on this machine", ""}},
      .examples = {{"sonde stop 4711", "the recording that process 4711 belongs to"}},
      .run = run};
}

}  // namespace sonde::cli
