// --sys-root and --proc-root. Used by the commands that look at GPUs and processes.
#pragma once

#include "base/result.h"
#include "cli/command.h"

namespace sonde::cli {

// An error if one that is given is not a folder: otherwise the answer would be that nothing is
// there.
Status check_roots(const Arguments& arguments);

}  // namespace sonde::cli
