// The second half of arrange() of columns.h: which rows stay, and in which order. Private to trace.
#pragma once

#include "trace/trace.h"

namespace sonde::trace {
void arrange_rows(const Request& request, const Window& window, Trace& trace);
}  // namespace sonde::trace
