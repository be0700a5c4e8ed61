// The config file of Sonde: TOML, with the settings of settings.h in tables named like their
// categories.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/settings.h"

namespace sonde::cli {

// The settings of the file, checked; an unknown key is an error that names its row and the nearest
// key.
Result<Layer> read_config_file(const std::string& path);

// A whole config file: every setting with what it means. Those of `preset` ("" for none) have its
// values, the others are commented out.
std::string config_text(std::string_view preset);

}  // namespace sonde::cli
