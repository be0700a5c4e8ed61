#include "analysis/collectives/collectives.h"

#include "cli/common.h"

namespace sonde::cli {

Command collectives_command() {
  Command command = joint_command({"collectives", analysis::kCollectivesDefinition,
                                   analysis::collectives_needs, analysis::collectives_report});
  command.summary = "Show how fast collective operations were, and which ranks were late";
  command.description =
      "Latency, bandwidth and skew of the collectives of NCCL, RCCL and others, by "
      "communicator, operation and size, and which rank the others waited for. Give the traces "
      "of several ranks together.";
  command.examples = {
      {"sonde collectives trace.rpd", "of all processes of a recording"},
      {"sonde collectives rank0.json rank1.json", "of two ranks, with skew and straggler"}};
  return command;
}

}  // namespace sonde::cli
