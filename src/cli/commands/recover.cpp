// sonde recover: finishes a recording whose recorder or machine stopped in the middle.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/record_summary.h"
#include "record/record.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto outcome,
               record::recover(arguments.positionals()[0], arguments.value_or("output", "")));
  print_record_summary(outcome);
  return 0;
}

}  // namespace

const Command& recover_command();
const Command& recover_command() {
  static const Command kCommand = {
      .name = "recover",
      .group = "Record",
      .summary = "Finish a trace whose recording was interrupted",
      .description =
          "When sonde record itself is killed, or its disk is full, the records of the program "
          "stay "
          "in the session directory. This command brings them into the trace, exactly from where "
          "the "
          "recorder stopped, and removes the directory. Processes that still run are no longer "
          "recorded from then on.",
      .positionals = {{"SESSION", "the session directory, e.g. /tmp/sonde-a1B2c3"}},
      .options = {{"-o,--output", "FILE", "write the trace here instead of where the recording did",
                   ""}},
      .examples = {{"sonde recover /tmp/sonde-a1B2c3", "finish the trace where it was begun"},
                   {"sonde recover /tmp/sonde-a1B2c3 -o /data/run.rpd",
                    "finish it on a disk that has space"}},
      .run = run};
  return kCommand;
}

}  // namespace sonde::cli
