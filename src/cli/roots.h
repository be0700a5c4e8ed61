// --sys-root and --proc-root. Used by the commands that look at GPUs and processes.
#pragma once

#include "base/result.h"
#include "cli/command.h"

namespace sonde::cli {

// An error where one that is given is no folder: nothing would be found in it, and said to be so.
Status check_roots(const Arguments& arguments);

}  // namespace sonde::cli
