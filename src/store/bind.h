// Binds values to the parameters of a statement, in their order. Used where rows of small tables
// are written; large ones have store/row_buffer.h.
#pragma once

#include "store/database.h"

namespace sonde::store {

template <typename... Values>
void bind_all(Statement& statement, const Values&... values) {
  int index = 0;
  (statement.bind(++index, values), ...);
}

}  // namespace sonde::store
