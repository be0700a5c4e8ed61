// scan(): reads all rows of a query, a third faster than stepping through them. The rows are the
// arguments of an SQL aggregate function of ours, so SQLite runs its own loop over them and we are
// called with the values. Used by all who read whole tables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "store/database.h"

struct sqlite3_value;

namespace sonde::store {

// The values of one row; valid during the call it is given to.
class Row {
 public:
  explicit Row(sqlite3_value** values) : values_(values) {}
  bool is_null(int column) const;
  int64_t integer(int column) const;
  int64_t integer_or(int column, int64_t fallback) const;  // `fallback` for NULL
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  sqlite3_value** values_;
};

using RowFunction = void (*)(void* context, const Row& row);
Status scan_rows(Database& database, const std::string& columns, const std::string& source,
                 std::initializer_list<int64_t> parameters, RowFunction function, void* context);

// Calls on_row(row) for each row of "SELECT columns FROM source", in the order of the table.
// `parameters` are ?1, ?2 ... of the source.
template <typename OnRow>
Status scan(Database& database, const std::string& columns, const std::string& source,
            std::initializer_list<int64_t> parameters, OnRow&& on_row) {
  using Function = std::remove_reference_t<OnRow>;
  const RowFunction call = [](void* context, const Row& row) {
    (*static_cast<Function*>(context))(row);
  };
  return scan_rows(database, columns, source, parameters, call, &on_row);
}

// The same of a source that needs a table that only some files have.
template <typename OnRow>
Status scan_of(Database& database, std::string_view table, const std::string& columns,
               const std::string& source, OnRow&& on_row) {
  SONDE_ASSIGN(const bool there, database.has_table(table));
  return there ? scan(database, columns, source, {}, on_row) : ok_status();
}

}  // namespace sonde::store
