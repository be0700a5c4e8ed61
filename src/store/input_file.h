// open_input: a read-only connection to whatever a user may give as a trace: an .rpd, a
// gzip-compressed one, one that is being written, or one that a killed writer left behind with a
// journal. Used by Reader and upgrade. The given file and its directory are never changed.
#pragma once

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

Result<Database> open_input(const std::string& path);

}  // namespace sonde::store
