// Leaves operations out of a loaded trace. Used where the choice depends on the whole trace, such
// as the steady part of a training run.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

// `kept` by row of Trace::ops. Calls and samples stay.
void keep_ops(Trace& trace, const std::vector<bool>& kept);
// Counters follow their operations to `new_row`, and go with those that have none.
void move_counters(OpCounters& counters, const std::vector<Row>& new_row);

}  // namespace sonde::trace
