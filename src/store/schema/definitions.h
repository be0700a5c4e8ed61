// Definitions of tables, views and indices from an untrusted file, run in another: they may define
// that and nothing else. Used where a file is rewritten (upgrade, trim).
#pragma once

#include <string>

#include "store/database.h"

namespace sonde::store {

Status run_definition_of_file(Database& database, const std::string& sql);

}  // namespace sonde::store
