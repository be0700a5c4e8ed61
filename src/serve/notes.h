// Notes that users make on a trace, in FILE.sonde-notes.json beside it: the trace itself stays as
// it is. Used by api.h.
#pragma once

#include <string>

#include "base/result.h"
#include "http/server.h"

namespace sonde::serve {

// {"version": "...", "path": "...", "notes": [{"from_ns", "to_ns", "text", "track"}]}. A file that
// is not a list of notes is an error, and is left alone.
http::Answer read_notes(const std::string& trace_path);
// Writes the list of a body {"version": "of the list that was read", "notes": [...]} in place of
// the one that is there. 409: another user has written meanwhile.
http::Answer write_notes(const std::string& trace_path, const std::string& body);

}  // namespace sonde::serve
