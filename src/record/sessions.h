// Session directories that were left behind: found where recordings make them, or through the trace
// that they belong to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::record {

struct Session {
  std::string path, output;  // the .rpd it goes to, "" if unknown
  int64_t changed_s = 0;     // when something was last written, seconds since 1970
  uint64_t bytes = 0;        // on disk
  bool being_read = false;   // a recorder or a recovery is reading it
};

// Where sessions are made: $SONDE_SPOOL_DIR, $TMPDIR, /tmp and other places for temporary files.
std::vector<std::string> session_places();
// The session directories in these folders, the newest first.
std::vector<Session> find_sessions(const std::vector<std::string>& places);

// The session directory that a path refers to: itself, its unfinished .rpd, or the .rpd that it was
// to become.
Result<std::string> session_of(const std::string& path);

}  // namespace sonde::record
