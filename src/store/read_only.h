// A query of the user, prepared so that it can only read: not this file, which is opened read-only
// anyway, nor any other (ATTACH, VACUUM INTO), nor temporary tables. One statement, so that nothing
// after it is silently ignored. Used by `sonde query`.
#pragma once

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

Result<Statement> prepare_read_only(Database& database, const std::string& sql);

// What a column of the current row holds (SQLite's own numbers).
enum class ValueType { kInteger = 1, kReal = 2, kText = 3, kBlob = 4, kNull = 5 };
ValueType value_type(const Statement& rows, int column);

}  // namespace sonde::store
