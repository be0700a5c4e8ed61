#include "analysis/info.h"

#include "cli/common.h"
#include "trace/file_info.h"

namespace sonde::cli {
namespace {

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(auto reader, open_trace(arguments));
  SONDE_ASSIGN(const trace::FileInfo info, trace::file_info(reader));
  return print_report(arguments, analysis::info_report(info, arguments.flag("environment")), 0);
}

}  // namespace

const Command& info_command() {
  static const Command kCommand{
      "info",
      "Ask",
      "Tell what a trace file is and holds",
      "The file's format and who made it, the recorded processes with their commands and how they "
      "ended, devices, time span, number of rows, and whatever the recorder has to say: drops and "
      "errors are printed as warnings, here and by every other command.",
      {trace_file()},
      {as_option(),
       format_option(),
       {"--environment", "", "also list the environment of the recording (secrets left out)", ""}},
      {{"sonde info trace.rpd", "the overview"},
       {"sonde info trace.rpd --format json | jq .processes", "the processes, for a script"}},
      false,
      run};
  return kCommand;
}

}  // namespace sonde::cli
