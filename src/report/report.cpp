#include "report/report.h"

#include <strings.h>

#include "base/check.h"

namespace sonde::report {
namespace {

bool unit_is_in_key(std::string_view key, Kind kind) {
  if (kind == Kind::kTime) return key.ends_with("_ns");
  if (kind == Kind::kBytes) return key.ends_with("_bytes");
  return true;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

void Table::add_column(Column column) {
  SONDE_CHECK(unit_is_in_key(column.key, column.kind));
  SONDE_CHECK(rows.empty());
  columns.push_back(std::move(column));
}

void Table::add_columns(std::vector<Column> more) {
  for (Column& column : more) add_column(std::move(column));
}

void Table::add_row(std::vector<Value> row) {
  SONDE_CHECK(row.size() == columns.size());
  rows.push_back(std::move(row));
}

void Section::add_fact(Fact fact) {
  SONDE_CHECK(unit_is_in_key(fact.key, fact.kind));
  facts.push_back(std::move(fact));
}

int find_column(const Table& table, std::string_view name) {
  for (const bool exact : {true, false}) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      std::string_view bare = column.key;  // "total" finds total_ns, unless there is a "total"
      if (bare.ends_with("_ns")) bare.remove_suffix(3);
      if (bare.ends_with("_bytes")) bare.remove_suffix(6);
      const bool found =
          exact ? equal_ignoring_case(column.key, name)
                : equal_ignoring_case(column.title, name) || equal_ignoring_case(bare, name);
      if (found) return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace sonde::report
