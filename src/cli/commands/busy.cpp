#include "cli/common.h"

namespace sonde::cli {

const Command& busy_command() {
  static const Command kCommand = analysis_command(
      analysis::busy_analysis(), "Show how much of the time each GPU was busy",
      "For each GPU the time in which at least one operation ran, as a share of its window, and "
      "beside it the figure that RPD's tools print, which adds up overlapping operations.",
      {{"sonde busy trace.rpd", "from the first to the last operation of each GPU"},
       {"sonde busy trace.rpd --from 2s --to 3s", "in the third second of the trace"},
       {"sonde busy trace.rpd --format json", "the same as values for a script"}});
  return kCommand;
}

}  // namespace sonde::cli
