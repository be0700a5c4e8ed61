// sonde snapshot: what a recording that keeps its end, or is rotated, has at this moment.
#include <fmt/format.h>

#include "base/free_name.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "record/live.h"
#include "record/parts.h"
#include "store/database.h"
#include "store/rotation.h"

namespace sonde::cli {

namespace {

// What --last says of the recording; 0 where it is rotated only.
Result<int64_t> kept_ns(const std::string& part) {
  SONDE_ASSIGN(auto database, store::Database::open(part, store::Database::Mode::kReadOnly));
  return database.integer(
      "SELECT CAST(value AS integer) FROM rocpd_metadata WHERE tag = "
      "'sonde::last_ns'");
}

Status write_snapshot(const record::LiveRecording& recording, const std::string& wanted) {
  SONDE_ASSIGN(const auto parts, record::cut_recording(recording));
  if (parts.empty()) {
    return make_error(ErrorCode::kNotFound, "its parts are not there any more", recording.output);
  }
  const std::string base = record::base_of_part(parts.back()).value_or(parts.back());
  const std::string name =
      wanted.empty() ? base.substr(0, base.rfind('.')) + ".snapshot.rpd" : wanted;
  const std::string output = free_name(name);
  if (output != name) print_error_line(name + " exists; writing " + output);
  SONDE_ASSIGN(const int64_t last_ns, kept_ns(parts.back()));
  SONDE_TRY(store::join_parts(parts, output, last_ns));
  const std::string what =
      last_ns != 0 ? "the last " + format_duration(last_ns) : fmt::format("{} parts", parts.size());
  return write_stdout(fmt::format("{}: {} of {}\n", output, what, base));
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto chosen,
               record::choose_recordings(arguments.positionals(), arguments.flag("all")));
  const std::string output = arguments.value_or("output", "");
  if (!output.empty() && chosen.size() > 1) {
    return make_error(ErrorCode::kInvalidArgument, "there are several recordings", "-o",
                      "leave it out, or name one recording");
  }
  for (const record::LiveRecording& recording : chosen) {
    SONDE_TRY(write_snapshot(recording, output));
  }
  return 0;
}

}  // namespace

Command snapshot_command() {
  return {
      .name = "snapshot",
      .summary = "Write what a recording has at this moment as a trace",
      .description =
          "Of a recording that keeps its end (sonde record --last 30s) writes what happened in "
          "the last 30 s before this moment, of one that is rotated (--rotate) all parts that "
          "are kept, as one trace. The recording goes on.\n\n"
          "WHICH is a process of the recording, or the trace that it writes, by its path or "
          "name. It can be left out where only one is at work. An existing file is never "
          "overwritten: the next free name is taken.",
      .positionals = {{"WHICH", "a process or a trace, e.g. 4711 or trace.rpd", false, true}},
      .options = {{"-o,--output", "FILE", "the trace to write", "TRACE.snapshot.rpd"},
                  {"--all", "", "all recordings of yours on this machine", ""}},
      .examples = {{"sonde record --last 30s -o serving.rpd -- ./server", "keeps half a minute"},
                   {"sonde snapshot serving",
                    "from another terminal: something was slow just now"}},
      .run = run};
}

}  // namespace sonde::cli
