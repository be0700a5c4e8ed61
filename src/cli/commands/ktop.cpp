#include "cli/common.h"

namespace sonde::cli {

const Command& ktop_command() {
  static const Command kCommand =
      analysis_command(analysis::ktop_analysis(), "List the kernels that took most GPU time",
                       "As sonde top, without copies and other operations that are not kernels.",
                       {{"sonde ktop trace.rpd", "the 25 kernels with the largest total"},
                        {"sonde ktop trace.rpd --kernel 'gemm|Cijk_' --full-names",
                         "matrix products, names whole"}});
  return kCommand;
}

}  // namespace sonde::cli
