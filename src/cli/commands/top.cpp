#include "cli/common.h"

namespace sonde::cli {

const Command& top_command() {
  static const Command kCommand = analysis_command(
      analysis::top_analysis(), "List the operations of the GPUs that took most time",
      "Kernels, copies and everything else the devices did, added up by name: the first look at a "
      "trace. Times in text are microseconds, with the nanoseconds after the point.",
      {{"sonde top trace.rpd", "the 25 names with the largest total"},
       {"sonde top trace.rpd --from 20% --to 40%", "the same for a part of the run"},
       {"sonde top trace.rpd --format csv > top.csv", "every name, in exact nanoseconds"},
       {"sonde top trace.rpd --sort calls --limit 5", "what ran most often"}});
  return kCommand;
}

}  // namespace sonde::cli
