#include "serve/sql.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/join.h"
#include "base/strings.h"
#include "store/limited_query.h"

namespace sonde::serve {

Result<std::string> sql_json(store::Reader& reader, const std::string& sql) {
  const auto result = store::limited_query(reader.database(), sql);
  if (!result) {
    Error error = result.error();
    error.code = ErrorCode::kInvalidArgument;
    return error;
  }
  const std::string rows = join(result->rows, ",\n", [](const std::vector<std::string>& row) {
    return fmt::format("[{}]", fmt::join(row, ", "));
  });
  return fmt::format("{{\"columns\": [{}], \"cut\": {}, \"rows\": [{}]}}\n",
                     join(result->columns, ", ", json_quote), result->cut, rows);
}

Result<std::string> schema_json(store::Reader& reader) {
  SONDE_ASSIGN(
      auto rows,
      reader.database().prepare(
          "SELECT m.name, m.type, c.name FROM "
          "(SELECT 0 AS place, name, type FROM sqlite_temp_schema WHERE name LIKE 'v\\_%' ESCAPE '\\'"
          " UNION ALL SELECT 1, name, type FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE "
          "'\\') AS m, pragma_table_info(m.name) AS c WHERE m.type IN ('table', 'view') "
          "ORDER BY m.place, m.name, c.cid"));
  std::string tables, table;
  for (;;) {
    SONDE_ASSIGN(const bool more, rows.step());
    if (!more) break;
    const std::string name(rows.text(0));
    if (tables.empty() || name != table) {
      tables +=
          fmt::format("{}{{\"name\": {}, \"view\": {}, \"columns\": [",
                      tables.empty() ? "" : "]},\n", json_quote(name), rows.text(1) == "view");
    } else {
      tables += ", ";
    }
    table = name;
    tables += json_quote(rows.text(2));
  }
  return "{\"tables\": [" + tables + (tables.empty() ? "" : "]}") + "]}\n";
}

}  // namespace sonde::serve
