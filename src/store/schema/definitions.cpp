#include "store/schema/definitions.h"

#include <sqlite3.h>

namespace sonde::store {

namespace {

int authorize_definitions(void*, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_INDEX:
    case SQLITE_REINDEX:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

Status run_definition_of_file(Database& database, const std::string& sql) {
  sqlite3_set_authorizer(database.handle(), &authorize_definitions, nullptr);
  const auto define = [&]() -> Status {
    SONDE_ASSIGN(auto statement, database.prepare(sql));
    return statement.run();
  };
  auto status = define();
  sqlite3_set_authorizer(database.handle(), nullptr, nullptr);
  return status;
}

}  // namespace sonde::store
