// Lists of findings that a user names: sonde check --fail-on, sonde record --trigger, sonde
// snapshot
// --if-finding.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::cli {

// Of a list like "waits,idle-gpu", or "any", which is each that there is. A name that none has is
// an error of that option, which lists them.
Result<std::vector<std::string>> chosen_findings(const std::string& text, const char* option);

}  // namespace sonde::cli
