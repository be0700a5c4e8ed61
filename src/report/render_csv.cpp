// CSV as RFC 4180 has it: one header row of keys, quotes where needed, lines end in LF. Sections
// follow each other after an empty line; facts are rows of key and value.
#include <fmt/format.h>

#include <cmath>

#include "report/csv.h"
#include "report/render.h"

namespace sonde::report {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

namespace {

std::string csv_value(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return csv_field(*text);
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? fmt::format("{}", *real) : "";
  }
  return "";
}

void append_table(std::string& out, const Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i != 0) out += ',';
    out += csv_field(table.columns[i].key);
  }
  out += '\n';
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
      append_table(out, section.table);
    }
  }
  return out;
}

}  // namespace

const Renderer& csv_renderer() {
  static const Renderer kRenderer{"csv", "exact values, one header row", false, false, render};
  return kRenderer;
}

}  // namespace sonde::report
