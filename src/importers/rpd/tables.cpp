#include "importers/rpd/tables.h"

#include "store/copy_rows.h"
#include "store/scan.h"

namespace sonde::importers {

int64_t RpdTables::first_id(const std::string& table) {
  const auto [known, added] = first_ids_.try_emplace(table, 0);
  if (added) {
    const Table* const target = sink_.table(table);
    if (target != nullptr) known->second = sink_.last_id(*target);
  }
  return known->second;
}

int64_t RpdTables::new_id(const std::string& table, int64_t id) {
  if (const auto known = ids_.find(table); known != ids_.end()) return known->second(id);
  int64_t moved = 0;
  return id > 0 && !__builtin_add_overflow(id, first_id(table), &moved) ? moved : 0;
}

Result<bool> RpdTables::carry(const std::string& name) {
  const Table* const table = sink_.table(name);
  if (table == nullptr) return false;
  // Files of earlier versions have fewer columns.
  std::vector<std::string> columns;
  std::vector<size_t> places;
  for (size_t i = 0; i < table->columns.size(); ++i) {
    SONDE_ASSIGN(const bool there, database_.has_column(name, table->columns[i].name));
    if (!there) continue;
    columns.push_back(table->columns[i].name);
    places.push_back(i);
  }
  if (places.empty()) return true;
  uint64_t lost = 0;
  std::vector<Cell> cells(table->columns.size());
  const auto take = [&](const store::Row& row) {
    for (size_t i = 0; i < places.size(); ++i) {
      const Table::Column& column = table->columns[places[i]];
      const int at = static_cast<int>(i);
      Cell& cell = cells[places[i]] = {};
      if (row.is_null(at)) {
        if (column.required && column.name != "id") return false;
        continue;
      }
      if (!column.refers_to.empty()) {
        const int64_t id = new_id(column.refers_to, row.integer(at));
        if (id != 0) cell = id;
        if (id == 0 && column.required) return false;
      } else if (column.type == Table::Type::kInteger) {
        cell = row.integer(at);
      } else if (column.type == Table::Type::kReal) {
        cell = row.real(at);
      } else {
        cell = row.text(at);
      }
    }
    sink_.row(*table, cells);
    return true;
  };
  SONDE_TRY(store::scan(database_, store::list_of(columns), store::quoted_name(name), {},
                        [&](const store::Row& row) { lost += take(row) ? 0 : 1; }));
  tally_.skip("rows of " + name + " that lack something", "", lost);
  SONDE_TRY(sink_.status());
  return true;
}

}  // namespace sonde::importers
