#include "cli/live.h"

#include <fmt/ranges.h>

#include "cli/common.h"
#include "cli/terminal.h"
#include "record/live.h"

namespace sonde::cli {

namespace {

std::string processes_text(const record::LiveRecording& recording) {
  return fmt::format("{}", fmt::join(recording.processes, " "));
}

std::string state_of(const record::LiveRecording& recording) {
  if (recording.asked == wire::Asked::kOn && recording.position == wire::kOn) {
    return "recording, since sonde start";
  }
  if (recording.asked == wire::Asked::kOff) return "stopped, by sonde stop";
  if (recording.position == wire::kOff) return "not recording (--delay, --duration or --max-size)";
  return recording.waits_for_program ? "waits for the program or sonde start" : "recording";
}

}  // namespace

Result<int> switch_recordings(const Arguments& arguments, wire::Asked asked) {
  SONDE_ASSIGN(const auto chosen,
               record::choose_recordings(arguments.positionals(), arguments.flag("all")));
  for (const record::LiveRecording& recording : chosen) {
    SONDE_TRY(record::switch_recording(recording, asked));
    SONDE_TRY(write_stdout(fmt::format("{}: {}\n", recording.output,
                                       asked == wire::Asked::kOn ? "recording" : "stopped")));
  }
  return 0;
}

report::Report status_report() {
  using namespace report::columns;
  report::Report report;
  report.name = "status";
  report.subject = "recordings in progress";
  report::Section section{.key = "recordings",
                          .empty_text = "No recording of yours is in progress."};
  section.table.add_columns({text("trace", "Trace"), text("state", "State"),
                             text("processes", "Processes"), text("session", "Session directory")});
  for (const record::LiveRecording& recording : record::live_recordings()) {
    section.table.add_row(
        {recording.output, state_of(recording), processes_text(recording), recording.session});
  }
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace sonde::cli
