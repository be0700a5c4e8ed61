// What stands out in a trace, in one line, and the command that shows more of it. Printed after a
// recording, and by `sonde` alone in a folder with a trace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::cli {

// "found: ..." if something stands out, then "next: sonde ...".
Result<std::vector<std::string>> next_steps(store::Reader& reader, const std::string& path);

// The newest .rpd file of a folder; "" if there is none.
std::string newest_trace(const std::string& folder);

}  // namespace sonde::cli
