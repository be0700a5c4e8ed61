// The steps of a trace for the ruler of the page: those of `sonde steps`. Private to src/serve.
#pragma once

#include <string>

#include "base/result.h"
#include "serve/panel.h"

namespace sonde::serve {

// {"source": "...", "cut": false, "steps": [{"name", "pid", "start_ns", "end_ns"}]}, by start.
// Reads the trace again.
Result<std::string> steps_json(const Source& source);

// The steps of B beside those of A, so that what took longer shows: {"by": "steps" or "start",
// "pairs": [{"name", "base_start_ns", "base_end_ns", "start_ns", "end_ns"}]}. Steps belong together
// that have the same name, or, where none do, the same place in the order.
Result<std::string> aligned_json(const Source& base, const Source& other);

}  // namespace sonde::serve
