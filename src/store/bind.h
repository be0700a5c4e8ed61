// Binds values to the parameters of a statement, in their order, and runs one that is run once.
// Used where rows of small tables are written; large ones have store/row_buffer.h.
#pragma once

#include "store/database.h"

namespace sonde::store {

template <typename... Values>
void bind_all(Statement& statement, const Values&... values) {
  int index = 0;
  (statement.bind(++index, values), ...);
}

template <typename... Values>
Status run(Database& database, std::string_view sql, const Values&... values) {
  SONDE_ASSIGN(Statement statement, database.prepare(sql));
  bind_all(statement, values...);
  return statement.run();
}

}  // namespace sonde::store
