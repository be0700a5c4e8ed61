#include "cli/common.h"

namespace sonde::cli {

const Command& api_command() {
  static const Command kCommand = analysis_command(
      analysis::api_analysis(), "List the API calls and markers that took most CPU time",
      "Calls into HIP, OpenCL and other recorded APIs, and the program's own markers, added up by "
      "name.",
      {{"sonde api trace.rpd", "the 25 names with the largest total"},
       {"sonde api trace.rpd --name Memcpy --sort max", "the slowest single copies first"}},
      "--name");
  return kCommand;
}

}  // namespace sonde::cli
