#include "report/cells.h"

#include "report/names.h"
#include "report/render.h"

namespace sonde::report {

namespace {
// Names that are not C++ and yet hundreds of characters long (Tensile's) are cut even where the
// output has no width.
constexpr size_t kLongestName = 80;

void indent(std::vector<std::string>& cells, const Table& table) {
  const int depth = find_column(table, "depth");
  if (depth < 0) return;
  for (size_t row = 0; row < cells.size(); ++row) {
    const auto* spaces = std::get_if<int64_t>(&table.rows[row][static_cast<size_t>(depth)]);
    if (spaces != nullptr && *spaces > 0) cells[row].insert(0, static_cast<size_t>(*spaces), ' ');
  }
}

}  // namespace

std::string title_of(const Column& column) {
  if (column.kind == Kind::kPercent) return column.title + " %";
  if (column.kind == Kind::kTime && column.microseconds) return column.title + " us";
  return column.title;
}

std::string fact_text(const Fact& fact) {
  Column column;
  column.kind = fact.kind;
  const std::string text = text_of(fact.value, column);
  return fact.kind == Kind::kPercent ? text + " %" : text;
}

std::vector<std::vector<std::string>> cells_of(const Table& table, bool full_names) {
  std::vector<std::vector<std::string>> cells(table.columns.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    for (const auto& row : table.rows) cells[c].push_back(text_of(row[c], table.columns[c]));
    if (table.columns[c].kind == Kind::kName) {
      cells[c] =
          full_names ? demangled_names(cells[c]) : cut_names(short_names(cells[c]), kLongestName);
    }
    if (table.columns[c].indented) indent(cells[c], table);
  }
  return cells;
}

}  // namespace sonde::report
