// sonde mark: see start.cpp.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "record/live.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  const std::string text = arguments.value_or("text", "mark");
  SONDE_ASSIGN(const auto chosen,
               record::choose_recordings(arguments.positionals(), arguments.flag("all")));
  for (const record::LiveRecording& recording : chosen) {
    SONDE_TRY(record::mark_recording(recording, text));
    SONDE_TRY(write_stdout(fmt::format("{}: marked\n", recording.output)));
  }
  return 0;
}

constexpr const char* kText = R"(
mark - Mark this moment in a running recording

Puts a mark with a text into a recording, as if one of its programs had called sonde_mark(). In the
trace, the mark belongs to a process of its own, "sonde mark". So a load test, a person or a script
can say what happens when, and sonde trim, query and every viewer show it.

WHICH is a process of the recording, or the trace that it writes, by its path or name. It can be
left out where only one is in progress.

Arguments:
[WHICH...]

Options:
-t, --text TEXT  what the mark says [mark]
--all

Examples:
sonde mark serving --text 'load test begins'  from another terminal
)";

}  // namespace

Command mark_command() { return make_command(kText, run); }

}  // namespace sonde::cli
