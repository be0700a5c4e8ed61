// Recording a process that already runs: sonde record --pid.
#pragma once

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

// Records until the process ends, --duration has passed, or Ctrl-C. Says what cannot be recorded.
// The process continues to run.
Result<Outcome> attach(const Options& options);

}  // namespace sonde::record
