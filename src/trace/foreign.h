// The way from another tool's file to a Trace without an .rpd in between. The trace is the same as
// that of the .rpd that `sonde import` would make of the file.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "importers/importer.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::trace {

// The window goes by the text, and `named` is the part that its --window names; request.window is
// not looked at.
Result<Trace> load_foreign(importers::Found& found, const std::string& path, const Request& request,
                           const WindowText& window, std::optional<Interval> named = {});

// Any file that the tool can read: `as` names the importer, "" sniffs.
Result<Trace> load_file(const std::string& path, const std::string& as, const Request& request,
                        const WindowText& window);

}  // namespace sonde::trace
