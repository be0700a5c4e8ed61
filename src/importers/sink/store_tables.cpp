#include "importers/sink/store_tables.h"

#include "base/strings.h"
#include "store/copy_rows.h"

namespace sonde::importers {

namespace {

Table::Type type_of(std::string_view declared) {
  if (starts_with_any(declared, {"integer", "bigint", "bool"})) return Table::Type::kInteger;
  return declared == "real" ? Table::Type::kReal : Table::Type::kText;
}

// Durations and sizes end in _ns as well; these are the names of moments.
bool holds_time(std::string_view column) {
  return column == "time_ns" || column == "start_ns" || column == "end_ns" ||
         column == "monotonic_ns";
}

bool holds_gpu(std::string_view column) {
  return column == "gpu_id" || column == "dstDevice" || column == "srcDevice";
}

}  // namespace

Result<std::unique_ptr<StoreTables::Entry>> StoreTables::look_up(const std::string& name) {
  SONDE_ASSIGN(auto columns, database_->prepare(
                                 "SELECT c.name, lower(c.type), coalesce(k.\"table\", iif(c.pk AND "
                                 "c.name = 'id', ?1, '')), c.\"notnull\" OR c.pk FROM "
                                 "pragma_table_info(?1) c LEFT JOIN pragma_foreign_key_list(?1) k "
                                 "ON k.\"from\" = c.name ORDER BY c.cid"));
  columns.bind(1, name);
  auto entry = std::make_unique<Entry>();
  entry->table.name = name;
  std::vector<std::string> names;
  SONDE_TRY(store::each_row(columns, [&](const store::Statement&) {
    Table::Column column{std::string(columns.text(0)), type_of(columns.text(1)),
                         std::string(columns.text(2)), columns.integer(3) != 0};
    entry->is_time.push_back(holds_time(column.name));
    entry->is_gpu.push_back(holds_gpu(column.name));
    names.push_back(column.name);
    entry->table.columns.push_back(std::move(column));
  }));
  if (entry->table.columns.empty()) return std::unique_ptr<Entry>();
  SONDE_ASSIGN(entry->insert, store::insert_into(*database_, name, names));
  return entry;
}

Result<const Table*> StoreTables::find(std::string_view name) {
  auto known = entries_.find(name);
  if (known == entries_.end()) {
    SONDE_ASSIGN(auto entry, look_up(std::string(name)));
    known = entries_.emplace(name, std::move(entry)).first;
  }
  return known->second == nullptr ? nullptr : &known->second->table;
}

Result<int64_t> StoreTables::last_id(const Table& table) {
  return database_->integer("SELECT max(id) FROM " + store::quoted_name(table.name));
}

Status StoreTables::insert(const Table& table, const std::vector<Cell>& cells, int64_t shift_ns,
                           int64_t first_gpu) {
  Entry& entry = *entries_.find(table.name)->second;
  for (size_t i = 0; i < cells.size(); ++i) {
    const int index = static_cast<int>(i) + 1;
    if (const auto* const text = std::get_if<std::string_view>(&cells[i])) {
      entry.insert.bind(index, *text);
    } else if (const auto* const real = std::get_if<double>(&cells[i])) {
      entry.insert.bind(index, *real);
    } else if (const auto* const integer = std::get_if<int64_t>(&cells[i])) {
      int64_t value = *integer;
      if (entry.is_time[i] && __builtin_add_overflow(value, shift_ns, &value)) value = *integer;
      if (entry.is_gpu[i] && __builtin_add_overflow(value, first_gpu, &value)) value = *integer;
      entry.insert.bind(index, value);
    } else {
      entry.insert.bind_null(index);
    }
  }
  return entry.insert.run();
}

}  // namespace sonde::importers
