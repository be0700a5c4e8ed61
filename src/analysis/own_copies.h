// Calls that wait for the copy that they make although nothing in the file says so: copies from and
// to pageable memory, whose calls are named as asynchronous ones. Used by critical-path and idle.
#pragma once

#include "trace/trace.h"

namespace sonde::analysis {

// Whether the call that launched an operation returned because the operation was over. Told by
// time, and by the name where the file says which memory is pageable or pinned. Needs `links`.
bool is_awaited_by_its_call(const trace::Trace& trace, size_t op);

}  // namespace sonde::analysis
