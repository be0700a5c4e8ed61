// The way from another tool's file to a Trace without an .rpd in between. The trace is the same as
// that of the .rpd that `sonde import` would make of the file.
#pragma once

#include <string>

#include "base/result.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::trace {

// Any file that the tool can read: `as` names the importer, "" sniffs. The window goes by the text,
// and request.window is not looked at.
Result<Trace> load_file(const std::string& path, const std::string& as, const Request& request,
                        const WindowText& window);

}  // namespace sonde::trace
