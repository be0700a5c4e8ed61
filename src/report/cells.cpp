#include "report/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/names.h"
#include "report/unit.h"

namespace sonde::report {

namespace {
// Names that are not C++ but hundreds of characters long (Tensile's) are cut even if the output has
// no width.
constexpr size_t kLongestName = 80;
// Deeper rows are not indented further: no screen shows more, and a path of n frames would print n
// * n spaces.
constexpr int64_t kDeepest = 64;

void indent(std::vector<std::string>& cells, const Table& table) {
  const int depth = find_column(table, "depth");
  if (depth < 0) return;
  for (size_t row = 0; row < cells.size(); ++row) {
    const auto* spaces = std::get_if<int64_t>(&table.rows[row][static_cast<size_t>(depth)]);
    if (spaces == nullptr || *spaces <= 0) continue;
    cells[row].insert(0, static_cast<size_t>(std::min(*spaces, kDeepest)), ' ');
  }
}

void choose_units(const Table& table, bool exact, Part& part) {
  part.units.clear();
  for (size_t first = 0, c = 0; first < table.columns.size(); first = c) {
    std::vector<int64_t> times;
    do {
      for (const auto& row : table.rows) {
        const auto* ns = std::get_if<int64_t>(&row[c]);
        if (ns != nullptr && table.columns[c].kind == Kind::kTime) times.push_back(*ns);
      }
      ++c;
    } while (c < table.columns.size() && table.columns[c].in_unit_of_previous);
    part.units.resize(c, exact ? TimeUnit::kNanosecond : unit_that_fits(std::move(times)));
  }
}

std::string title_of(const Column& column, TimeUnit unit, bool exact) {
  const std::string unit_name = column.kind == Kind::kPercent          ? "%"
                                : column.kind == Kind::kTime           ? name_of(unit)
                                : column.kind == Kind::kBytes && exact ? "bytes"
                                                                       : "";
  if (unit_name.empty() || column.title.empty()) return column.title + unit_name;
  return column.title + " " + unit_name;
}

std::string cell_of(const Value& value, const Column& column, TimeUnit unit, bool exact) {
  const auto* ns = std::get_if<int64_t>(&value);
  if (ns == nullptr || column.kind != Kind::kTime || exact) return text_of(value, column, exact);
  return text_in(unit, *ns);
}

// The names of all columns at once: a row may compare two that differ in their arguments only.
void shorten_names(const Table& table, bool full, Cells& cells) {
  std::vector<std::string> names;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].kind != Kind::kName) continue;
    names.insert(names.end(), cells.texts[c].begin(), cells.texts[c].end());
  }
  names = full ? demangled_names(names) : cut_names(short_names(names), kLongestName);
  size_t next = 0;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].kind != Kind::kName) continue;
    for (std::string& text : cells.texts[c]) text = std::move(names[next++]);
  }
}

}  // namespace

std::string plain_text(const Value& value, std::string (*quoted)(std::string_view),
                       const char* none) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && std::isfinite(*real) ? fmt::format("{}", *real) : none;
}

std::string fact_text(const Fact& fact, bool exact) {
  Column column;
  column.kind = fact.kind;
  std::string text = text_of(fact.value, column, exact);
  const bool known = !std::holds_alternative<std::monostate>(fact.value);
  if (known && fact.kind == Kind::kPercent) text += " %";
  if (exact && known && fact.kind == Kind::kTime) text += " ns";
  if (exact && known && fact.kind == Kind::kBytes) text += " bytes";
  return text;
}

Cells cells_of(const Table& table, const RenderOptions& options, Part& part) {
  if (part.first) choose_units(table, options.exact, part);
  Cells cells;
  cells.texts.resize(table.columns.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    cells.titles.push_back(title_of(column, part.units[c], options.exact));
    std::vector<std::string>& texts = cells.texts[c];
    for (const auto& row : table.rows) {
      texts.push_back(cell_of(row[c], column, part.units[c], options.exact));
    }
  }
  shorten_names(table, options.full_names, cells);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].indented) indent(cells.texts[c], table);
  }
  return cells;
}

}  // namespace sonde::report
