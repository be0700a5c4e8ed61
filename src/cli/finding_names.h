// Lists of findings that a user names: sonde check --fail-on, sonde record --trigger, sonde
// snapshot
// --if-finding.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::cli {

// The names in a list like "waits,idle-gpu", or all for "any". An unknown name is an error of that
// option, which lists the names.
Result<std::vector<std::string>> chosen_findings(const std::string& text, const char* option);

}  // namespace sonde::cli
