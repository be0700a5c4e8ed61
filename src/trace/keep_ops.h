// Leaves operations out of a loaded trace. Used where the choice depends on the whole trace, such
// as the steady part of a training run.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

// `kept` by row of Trace::ops. Calls and samples stay; counters of an operation go with it.
void keep_ops(Trace& trace, const std::vector<bool>& kept);

}  // namespace sonde::trace
