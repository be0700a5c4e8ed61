// Rows of a table of one file on their way into another file: where files are rewritten (upgrade,
// trim) and where a recording goes on in the next (rotation).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/each_row.h"

namespace sonde::store {

// Puts the row at which `from` is into `to`, column by column.
inline Status copy_row(const Statement& from, Statement& to) {
  for (int i = 0; i < from.column_count(); ++i) to.bind_column(i + 1, from, i);
  return to.run();
}

inline Status copy_rows(Statement& from, Statement& to) {
  return each_row(from, [&](const Statement& row) { return copy_row(row, to); });
}

inline Result<std::vector<std::string>> columns_of(Database& database, std::string_view table) {
  std::vector<std::string> columns;
  SONDE_TRY(each_row(
      database, "SELECT name FROM pragma_table_info(?1) ORDER BY cid",
      [&](const Statement& rows) { columns.emplace_back(rows.text(0)); }, table));
  return columns;
}

// With quotes, and commas between them.
inline std::string list_of(const std::vector<std::string>& columns) {
  std::string list;
  for (const std::string& column : columns) {
    list += (list.empty() ? "" : ", ") + quoted_name(column);
  }
  return list;
}

// Adds a row with these columns, unless its key is there.
inline Result<Statement> insert_into(Database& database, std::string_view table,
                                     const std::vector<std::string>& columns) {
  std::string places = "?";
  for (size_t i = 1; i < columns.size(); ++i) places += ", ?";
  return database.prepare("INSERT OR IGNORE INTO main." + quoted_name(table) + " (" +
                          list_of(columns) + ") VALUES (" + places + ")");
}

}  // namespace sonde::store
