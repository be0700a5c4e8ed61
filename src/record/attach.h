// Recording a process that runs already: sonde record --pid.
#pragma once

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

// Until the process ends, --duration is over, or somebody presses Ctrl-C. What cannot be had of it
// is said. The process goes on.
Result<Outcome> attach(const Options& options);

}  // namespace sonde::record
