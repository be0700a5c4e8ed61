// The three forms of a config file of ROCm Systems Profiler: lines of text, JSON and XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::cli {

struct RocprofSysEntry {
  std::string name;                // as it is written there
  std::vector<std::string> words;  // of its value
  size_t row = 0;
};

// In the order of the file. Its first character says which form it has. `path` is for error
// messages.
Result<std::vector<RocprofSysEntry>> rocprof_sys_entries(const std::string& text,
                                                         const std::string& path);

}  // namespace sonde::cli
