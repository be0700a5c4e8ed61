// sonde start, stop and status: switch recordings that are at work, and say which there are.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  return switch_recordings(arguments, wire::Asked::kOn);
}

}  // namespace

Command start_command() {
  return {
      .name = "start",
      .summary = "Switch a running recording on from outside; stop, status",
      .description =
          "Switches recording on in all processes of a recording that sonde record --no-start began, or "
          "that sonde stop switched off, at once and in all their threads; sonde stop switches it "
          "off again. As often as you like: all of it is in the one trace. What a program says "
          "itself (sonde_start, roctracer_start ...) counts only until the first sonde start or "
          "stop.\n\n"
          "WHICH is a process of the recording, or the trace that it writes, by its path or name. "
          "It can be left out where only one is in progress. Recordings of other users cannot be seen.",
      .positionals = {{"WHICH", "a process or a trace, e.g. 4711 or trace.rpd", false, true}},
      .options = {{"--all", "", "all recordings of yours on this machine", ""}},
      .examples = {{"sonde record --no-start -o serving.rpd -- ./server", "records nothing yet"},
                   {"sonde start serving", "from another terminal: record from now on"},
                   {"sonde stop serving", "and no longer"},
                   {"sonde status", "which recordings are in progress?"}},
      .run = run};
}

}  // namespace sonde::cli
