// each_row(): calls a function for each row of a query, and stops at the first error. For queries
// with few rows and for those with parameters; scan.h reads whole tables faster.
#pragma once

#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "store/bind.h"
#include "store/database.h"

namespace sonde::store {

// `take(rows)` for each row that is left; what it returns is nothing, or a Status.
template <typename Take>
Status each_row(Statement& rows, Take&& take) {
  for (;;) {
    SONDE_ASSIGN(const bool more, rows.step());
    if (!more) return ok_status();
    if constexpr (std::is_void_v<decltype(take(rows))>) {
      take(rows);
    } else {
      SONDE_TRY(take(rows));
    }
  }
}

// `values` are ?1, ?2 ... of the query.
template <typename Take, typename... Values>
Status each_row(Database& database, std::string_view sql, Take&& take, const Values&... values) {
  SONDE_ASSIGN(Statement rows, database.prepare(sql));
  bind_all(rows, values...);
  return each_row(rows, take);
}

// The same for a table that only some files have.
template <typename Take>
Status each_row_of(Database& database, std::string_view table, std::string_view sql, Take&& take) {
  SONDE_ASSIGN(const bool there, database.has_table(table));
  return there ? each_row(database, sql, take) : ok_status();
}

}  // namespace sonde::store
