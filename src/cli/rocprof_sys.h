// What users of ROCm Systems Profiler (formerly Omnitrace) already have: its config files and the
// words of its option -I, as far as Sonde has counterparts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/settings.h"

namespace sonde::cli {

// Files of "NAME = value", of JSON or of XML; names with or without prefix, in any case; "$X = ..."
// defines a variable. What has no counterpart is named in one warning, with its row.
Result<Layer> read_rocprof_sys_config(const std::string& path, std::vector<std::string>& warnings);

// "rocm,ompt": the backends that these words stand for. Words for what Sonde does not record are
// named in a warning.
Layer rocprof_sys_include(const std::string& words, std::vector<std::string>& warnings);

}  // namespace sonde::cli
