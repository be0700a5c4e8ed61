// A trace whose recording was not finished says where the rest of it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

// The session directory of the recording that the file has part of; nullopt: it is finished.
// "": it does not say.
Result<std::optional<std::string>> unfinished_session(Database& database);
// Whether the recording is the one of the session with this number, wherever both are now.
Result<bool> is_unfinished_of(Database& database, uint64_t session_id);

// The warning for readers of the file at `path`, with what finishes the recording.
std::string unfinished_text(const std::string& path, const std::string& session);

}  // namespace sonde::store
