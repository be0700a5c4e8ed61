// What `sonde check` lists for a trace, as the page shows it first: with the part of time where
// each can be seen.
#pragma once

#include <string>

#include "base/result.h"
#include "serve/panel.h"

namespace sonde::serve {

// {"facts": [{"title", "text"}], "findings": [...], "missing": "...", "notes": [...]}. Reads the
// trace again.
Result<std::string> findings_json(const Source& source);

}  // namespace sonde::serve
