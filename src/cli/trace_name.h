// The name of a trace to be written, as -o says it. Used by the commands that write one.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde::cli {

// An error where it is no file, or its name promises the file of another tool: a trace is SQLite.
Status check_trace_name(const std::string& path);

}  // namespace sonde::cli
