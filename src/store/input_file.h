// open_input: a read-only connection to whatever a user may give as a trace: an .rpd, a
// gzip-compressed one, one that is being written, or one that a killed writer left behind with a
// journal. Used by Reader and upgrade. The given file and its directory are never changed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

// Whether a file that begins so is an SQLite database.
inline bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

Result<Database> open_input(const std::string& path);

}  // namespace sonde::store
