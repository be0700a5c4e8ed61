#include "report/sort.h"

#include <algorithm>

#include "base/join.h"

namespace sonde::report {
namespace {

// Larger numbers first, then text alphabetically.
bool comes_first(const Value& a, const Value& b) {
  if (std::holds_alternative<std::string>(a) && std::holds_alternative<std::string>(b)) {
    return std::get<std::string>(a) < std::get<std::string>(b);
  }
  if (std::holds_alternative<int64_t>(a) && std::holds_alternative<int64_t>(b)) {
    return std::get<int64_t>(a) > std::get<int64_t>(b);
  }
  const auto number = [](const Value& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return 0.0;
  };
  return number(a) > number(b);
}

}  // namespace

Status sort_table(Table& table, std::string_view column) {
  const bool reversed = !column.empty() && column.front() == '-';
  if (reversed) column.remove_prefix(1);
  const int index = find_column(table, column);
  if (index < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "no column '" + std::string(column) + "' to sort by", "--sort",
                      "columns: " + join(table.columns, ", ", &Column::key));
  }
  const auto key = static_cast<size_t>(index);
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    const bool a_known = !std::holds_alternative<std::monostate>(a[key]);
    const bool b_known = !std::holds_alternative<std::monostate>(b[key]);
    if (!a_known || !b_known) return a_known && !b_known;
    return reversed ? comes_first(b[key], a[key]) : comes_first(a[key], b[key]);
  });
  return ok_status();
}

namespace {

// The parts of a report that are a table, each a section of its own.
std::vector<Section> tables_of(const Report& report) {
  std::vector<Section> tables;
  std::vector<Section> facts;
  for (const Section& section : report.sections) {
    Section only = section;
    only.remarks.clear();
    const bool has_table = !section.table.columns.empty();
    if (has_table) {
      only.facts.clear();
      tables.push_back(only);
    }
    if (section.facts.empty()) continue;
    only = Section();
    only.key = has_table ? section.key + "_facts" : section.key;
    only.facts = section.facts;
    (has_table || !tables.empty() ? facts : tables).push_back(std::move(only));
  }
  tables.insert(tables.end(), std::make_move_iterator(facts.begin()),
                std::make_move_iterator(facts.end()));
  return tables;
}

}  // namespace

Result<std::string> choose_table(Report& report, std::string_view name) {
  std::vector<Section> tables = tables_of(report);
  if (tables.empty()) return std::string();
  size_t chosen = name.empty() ? 0 : tables.size();
  std::string names;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].key == name) chosen = i;
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (i != chosen) names += (names.empty() ? "" : ", ") + tables[i].key;
  }
  if (chosen == tables.size()) {
    return make_error(ErrorCode::kInvalidArgument, "no table '" + std::string(name) + "'",
                      "--table", "there are: " + names);
  }
  report.sections = {std::move(tables[chosen])};
  return names;
}

void limit_table(Table& table, size_t limit) {
  if (limit == 0 || table.rows.size() <= limit) return;
  table.rows_left_out += table.rows.size() - limit;
  table.rows.resize(limit);
}

void limit_tables(Report& report, size_t limit, bool trees_too) {
  for (Section& section : report.sections) {
    const bool is_tree = std::any_of(section.table.columns.begin(), section.table.columns.end(),
                                     [](const Column& column) { return column.indented; });
    if (!is_tree || trees_too) limit_table(section.table, limit);
  }
}

}  // namespace sonde::report
