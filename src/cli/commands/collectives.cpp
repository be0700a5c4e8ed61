#include "analysis/collectives/collectives.h"

#include "cli/common.h"

namespace sonde::cli {

namespace {

constexpr const char* kText = R"(
collectives - Show how fast collective operations were, and which ranks were late

Shows latency, bandwidth and skew of the collectives of NCCL, RCCL and others, by communicator,
operation and size, and which rank the others waited for. Give the traces of several ranks together.

Arguments:
FILE...

Examples:
sonde collectives trace.rpd  of all processes of a recording
sonde collectives rank0.json rank1.json  of two ranks, with skew and straggler
)";

}  // namespace

Command collectives_command() {
  return joint_command({kText, analysis::kCollectivesDefinition, analysis::collectives_needs,
                        analysis::collectives_report});
}

}  // namespace sonde::cli
