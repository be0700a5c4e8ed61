// A first look at an .rpd while it is being read: some of its rows, spread over the file, show what
// there is and roughly how busy it was when. Private to src/serve.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde::serve {

// {"sample": true, "start_ns": 0, "end_ns", "ops", "apis": about how many, "tracks": [{"kind",
// "owner", "number", "bins": [256 shares of time]}]}
Result<std::string> preview_json(const std::string& path);

}  // namespace sonde::serve
