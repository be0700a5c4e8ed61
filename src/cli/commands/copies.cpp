#include "cli/common.h"

namespace sonde::cli {

const Command& copies_command() {
  static const Command kCommand = analysis_command(
      analysis::copies_analysis(), "Show what was copied, how fast, and in pieces of which size",
      "Copies, fills, maps and migrations by direction, with bytes and rates, and then by size: "
      "many small copies are slower than a few large ones.",
      {{"sonde copies trace.rpd", "by direction and by size"},
       {"sonde copies trace.rpd --gpu 1 --format json", "of one GPU, for a script"}});
  return kCommand;
}

}  // namespace sonde::cli
