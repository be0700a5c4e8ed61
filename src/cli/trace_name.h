// The name of a trace to be written, as -o says it. Used by the commands that write one.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde::cli {

// An error if it is not a file, or if its name is that of another tool's file: a trace is SQLite.
Status check_trace_name(const std::string& path);

}  // namespace sonde::cli
