#include "cli/common.h"

namespace sonde::cli {

const Command& kernels_command() {
  static const Command kCommand = analysis_command(
      analysis::kernels_analysis(), "Show how the durations of each kernel spread",
      "Count, total, mean, median, 95th percentile, extremes and the usual launch geometry of each "
      "kernel.",
      {{"sonde kernels trace.rpd", "the kernels with the largest total first"},
       {"sonde kernels trace.rpd --sort p95", "the ones that are slow now and then first"}});
  return kCommand;
}

}  // namespace sonde::cli
