// CSV as RFC 4180 has it: one header row of keys, quotes where needed, lines end in LF. Sections
// follow each other after an empty line; facts are rows of key and value.
#include <cstdlib>

#include "base/printable.h"
#include "base/quoted.h"
#include "report/cells.h"
#include "report/csv.h"
#include "report/render.h"

namespace sonde::report {

namespace {

// A spreadsheet takes a cell that begins so as a formula, and runs it. Numbers stay numbers.
bool would_run(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) {
    return false;
  }
  const std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return *end != '\0' || end == copy.c_str();
}

}  // namespace

std::string csv_field(std::string_view given) {
  std::string text = would_run(given) ? "'" : "";
  text += printable(given, Lines::kKeep);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return in_quotes(text, '"');
}

namespace {

std::string csv_value(const Value& value) { return plain_text(value, csv_field, ""); }

void append_header(std::string& out, const Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i != 0) out += ',';
    out += csv_field(table.columns[i].key);
  }
  out += '\n';
}

void append_rows(std::string& out, const Table& table) {
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += ',';
      out += csv_value(row[i]);
    }
    out += '\n';
  }
}

std::string render(const Report& report, const RenderOptions&) {
  std::string out;
  for (const Section& section : report.sections) {
    if (!section.facts.empty()) {
      if (!out.empty()) out += '\n';
      out += "key,value\n";
      for (const Fact& fact : section.facts) {
        out += csv_field(fact.key) + ',' + csv_value(fact.value) + '\n';
      }
    }
    if (!section.table.columns.empty()) {
      if (!out.empty()) out += '\n';
      append_header(out, section.table);
      append_rows(out, section.table);
    }
  }
  return out;
}

std::string render_part(const Report& report, const RenderOptions&, Part& part) {
  std::string out;
  if (part.first) append_header(out, report.sections[0].table);
  append_rows(out, report.sections[0].table);
  return out;
}

}  // namespace

Renderer csv_renderer() {
  return {"csv", "exact values, one header row", false, false, render, render_part};
}

}  // namespace sonde::report
