#include "analysis/ranks/ranks.h"

#include "cli/common.h"

namespace sonde::cli {

Command ranks_command() {
  Command command = joint_command(
      {"ranks", analysis::kRanksDefinition, analysis::ranks_needs, analysis::ranks_report});
  command.summary = "Compare the GPUs of several ranks";
  command.description =
      "Compute, exposed communication, copies and idle time of each rank side by side, with the "
      "minimum, the median and the maximum of each. Give the traces of several ranks together.";
  command.examples = {{"sonde ranks trace.rpd", "all processes of a recording"},
                      {"sonde ranks rank*.json.gz", "one trace of each rank"}};
  return command;
}

}  // namespace sonde::cli
