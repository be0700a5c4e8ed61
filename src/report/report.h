// Report: what a command has to say, as values: sections of facts and tables with typed cells.
// Analyses build it, renderers (render.h) turn it into text, CSV, JSON. Nothing in it depends on
// how it will be shown: times are integer nanoseconds, sizes are bytes, and the keys of columns and
// facts say so (_ns, _bytes), which add_column() and add_fact() check.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/diagram.h"
#include "report/flame.h"
#include "report/value.h"

namespace sonde::report {

struct Column {
  std::string key;    // "total_ns": the name in CSV and JSON
  std::string title;  // "Total"
  Kind kind = Kind::kText;
  bool indented = false;  // for people: by as many spaces as the row's column "depth" says
  // Where a table does not fit, the column of the lowest priority leaves first, of equal ones the
  // rightmost. The first one above 0 stays, else the first column of names or text.
  int priority = 0;
  bool in_unit_of_previous = false;  // of times: they are compared with those of the column before
};

// Columns of each kind: table.add_columns({name("name", "Name"), time("total_ns", "Total")}).
namespace columns {
inline Column text(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kText};
}
inline Column name(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kName};
}
inline Column integer(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kInteger};
}
inline Column id(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kId};
}
inline Column real(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kReal};
}
inline Column time(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kTime};
}
// Is compared with the column before it: a time in the same unit.
inline Column compared(Column column) {
  column.in_unit_of_previous = true;
  return column;
}
inline Column bytes(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kBytes};
}
inline Column percent(std::string key, std::string title) {
  return {std::move(key), std::move(title), Kind::kPercent};
}
}  // namespace columns

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  // The row under which the table is sorted is the business of who builds it (sort.h); these rows
  // were left out after sorting, and every renderer that cannot be used for computing says so.
  size_t rows_left_out = 0;

  void add_column(Column column);
  void add_columns(std::vector<Column> more);
  void add_row(std::vector<Value> row);  // as many values as columns
};

struct Fact {
  std::string key;
  std::string title;
  Kind kind = Kind::kText;
  Value value;
};

// A section has facts, a table, or both. Its key names it in JSON. Charts show what its table says,
// where the form of the output has pictures; diagrams do so in text, too.
struct Section {
  std::string key;
  std::string title{};  // may be empty: no heading
  std::vector<Fact> facts{};
  Table table{};
  std::string empty_text{};            // what text says instead of a table without rows
  std::vector<std::string> remarks{};  // paragraphs below the table
  std::vector<Chart> charts{};
  std::vector<FlameGraph> flames{};
  std::vector<Diagram> diagrams{};

  void add_fact(Fact fact);
};

struct Report {
  std::string name;                   // the command: "top"
  std::string subject;                // the file
  std::vector<Section> sections;      // the first is the main one
  std::vector<std::string> notes;     // how the figures are to be read
  std::vector<std::string> warnings;  // drops and other losses; shown loudly by every renderer
  std::string definition;             // --explain; empty = not asked for
};

// Looks up a column by its key or title, ignoring case; -1 if there is none.
int find_column(const Table& table, std::string_view name);

}  // namespace sonde::report
