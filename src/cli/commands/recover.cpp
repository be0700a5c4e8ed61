// sonde recover: finishes a recording whose recorder or machine stopped in the middle.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/record_summary.h"
#include "record/record.h"
#include "record/sessions.h"

namespace sonde::cli {

namespace {

using namespace report::columns;

std::string date_of(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm local{};
  return ::localtime_r(&time, &local) != nullptr ? fmt::format("{:%Y-%m-%d %H:%M:%S}", local) : "";
}

// What can be recovered, the newest first.
Result<int> list(const Arguments& arguments) {
  report::Report report;
  report.name = "recover";
  report.subject = "recordings that were not finished";
  report::Section section{.key = "sessions", .empty_text = "There is nothing to recover."};
  section.table.add_columns({text("last_written", "Last written"), text("size", "Size"),
                             text("session", "Session directory"), text("trace", "Trace"),
                             text("state", "State")});
  for (const auto& session : record::find_sessions(record::session_places())) {
    section.table.add_row(
        {date_of(session.changed_s), format_size(session.bytes), session.path, session.output,
         session.being_read ? "still being recorded" : "sonde recover finishes it"});
  }
  report.sections.push_back(std::move(section));
  return print_report(arguments, std::move(report), 0);
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return list(arguments);
  const std::string what(arguments.positionals()[0]);
  SONDE_ASSIGN(const std::string session, record::session_of(what));
  SONDE_ASSIGN(const auto outcome,
               record::recover(session, arguments.value_or("output", ""), what));
  if (outcome.path.empty()) {
    fmt::print(stderr, "sonde: {}: nothing was left to recover, the directory is removed\n",
               session);
    return 0;
  }
  print_record_summary(outcome);
  return 0;
}

constexpr const char* kText = R"(
recover - Finish a trace whose recording was interrupted

When sonde record itself is killed, or its disk is full, the records of the program stay in the
session directory. This command brings them into the trace, exactly from where the recorder stopped,
and removes the directory. Processes that still run are no longer recorded after that. A directory
whose records are all in the trace, because only its removal was interrupted, is removed.

WHAT is the trace (even if the recording had not made it yet), or the session directory. Without it,
sonde recover lists the recordings that can be finished, newest first: those in $SONDE_SPOOL_DIR,
$TMPDIR, /tmp, /var/tmp, /dev/shm and the current folder. A trace knows its session directory
wherever that is, and may have been moved since: then give the trace.

A program whose recorder was killed goes on recording until the session directory has taken another
256 MiB (sonde record --orphan-limit); later events are counted as lost, and everything before is
recovered. If the recorder is only stopped or suspended, this command waits for it.

A process that has ended meanwhile ends, in the trace, with the last sign of it: its exit, its last
record, or the last look of the recorder; one that was killed may have run on without a sign.

Arguments:
[WHAT]  the trace or the session directory, e.g. /tmp/sonde-a1B2c3

Options:
-o, --output FILE  write the trace here [where the recording did]
--format

Examples:
sonde recover  list what can be finished
sonde recover trace.rpd  finish this trace
sonde recover /tmp/sonde-a1B2c3 -o /data/run.rpd  finish it on a disk that has space
)";

}  // namespace

Command recover_command() { return make_command(kText, run); }

}  // namespace sonde::cli
