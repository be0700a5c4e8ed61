#include "analysis/ranks/ranks.h"

#include "cli/common.h"

namespace sonde::cli {

namespace {

constexpr const char* kText = R"(
ranks - Compare the GPUs of several ranks

Shows compute, exposed communication, copies and idle time of each rank side by side, with the
minimum, the median and the maximum of each. Give the traces of several ranks together.

Arguments:
FILE...

Examples:
sonde ranks trace.rpd  all processes of a recording
sonde ranks rank*.json.gz  one trace of each rank
)";

}  // namespace

Command ranks_command() {
  return joint_command(
      {kText, analysis::kRanksDefinition, analysis::ranks_needs, analysis::ranks_report});
}

}  // namespace sonde::cli
