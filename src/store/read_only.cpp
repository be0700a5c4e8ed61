#include "store/read_only.h"

#include <sqlite3.h>

namespace sonde::store {
namespace {

int allow_reading(void* refused, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
    case SQLITE_PRAGMA:
      return SQLITE_OK;
    default:
      *static_cast<bool*>(refused) = true;
      return SQLITE_DENY;
  }
}

// The authoriser holds a pointer to refused_, so a Guard does not move.
class Guard {
 public:
  explicit Guard(sqlite3* handle) : handle_(handle) {
    sqlite3_set_authorizer(handle_, allow_reading, &refused_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { sqlite3_set_authorizer(handle_, nullptr, nullptr); }
  bool refused() const { return refused_; }

 private:
  sqlite3* handle_;
  bool refused_ = false;
};

Error read_only_error(const std::string& path) {
  return make_error(ErrorCode::kUnsupported, "the query would write", path,
                    "sonde query only reads; use sqlite3 on a copy");
}

Status check_single(sqlite3* handle, const std::string& sql, const std::string& path) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, &rest);
  const bool reads = statement == nullptr || sqlite3_stmt_readonly(statement) != 0;
  const bool empty = code == SQLITE_OK && statement == nullptr;
  sqlite3_finalize(statement);
  if (empty) return make_error(ErrorCode::kUnsupported, "the query is empty", path);
  if (!reads) return read_only_error(path);
  if (code != SQLITE_OK) return ok_status();  // Database::prepare says what is wrong
  sqlite3_stmt* next = nullptr;
  const bool single =
      sqlite3_prepare_v2(handle, rest, -1, &next, nullptr) == SQLITE_OK && next == nullptr;
  sqlite3_finalize(next);
  if (single) return ok_status();
  return make_error(ErrorCode::kUnsupported, "more than one statement", path,
                    "give one query; WITH can hold the steps before it");
}

}  // namespace

Result<Statement> prepare_read_only(Database& database, const std::string& sql) {
  const Guard guard(database.handle());
  const Status single = check_single(database.handle(), sql, database.path());
  if (guard.refused()) return read_only_error(database.path());
  SONDE_TRY(single);
  return database.prepare(sql);
}

ValueType value_type(const Statement& rows, int column) {
  return static_cast<ValueType>(rows.column_type(column));
}

}  // namespace sonde::store
