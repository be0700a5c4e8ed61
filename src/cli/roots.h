// --sys-root, --proc-root and --nvml. Used by the commands that look at GPUs and processes.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "watch/watcher.h"

namespace sonde::cli {

// An error if one that is given is not a folder: otherwise the answer would be that nothing is
// there.
Status check_roots(const Arguments& arguments);
monitor::Roots roots_of(const Arguments& arguments);
watch::WatchOptions watch_options(const Arguments& arguments);

}  // namespace sonde::cli
