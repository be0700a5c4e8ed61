// The second half of arrange() of columns.h: which rows stay, and in which order. Private to trace.
#pragma once

#include "trace/trace.h"

namespace sonde::trace {
// Takes what was loaded of a rank into Trace::program. Needs all of it: before arrange_rows().
void extend_program(Trace& trace, int64_t rank);
void arrange_rows(const Request& request, const Window& window, Trace& trace);
}  // namespace sonde::trace
