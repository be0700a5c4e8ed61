// JSON: one object. A table is an array of objects under its section's key, facts are an object
// under the section's key (or beside the table, as KEY_facts, where a section has both).
// KEY_missing says why a table has no rows. Integers are exact; text is valid UTF-8 whatever the
// file holds.
#include <fmt/format.h>

#include "base/join.h"
#include "base/strings.h"
#include "report/cells.h"
#include "report/render.h"

namespace sonde::report {
namespace {

std::string json_value(const Value& value) { return plain_text(value, json_quote, "null"); }

void append_facts(std::string& out, const Section& section) {
  const auto member = [](const Fact& fact) {
    return json_quote(fact.key) + ": " + json_value(fact.value);
  };
  const std::string members = join(section.facts, ",\n    ", member);
  out += members.empty() ? "{}" : "{\n    " + members + "\n  }";
}

void append_rows(std::string& out, const Table& table, const Part& part) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns) keys.push_back(json_quote(column.key) + ": ");
  if (part.first) out += '[';
  for (size_t r = 0; r < table.rows.size(); ++r) {
    out += r + part.rows_before == 0 ? "\n    {" : ",\n    {";
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i != 0) out += ", ";
      out += keys[i] + json_value(table.rows[r][i]);
    }
    out += '}';
  }
  if (part.last) out += table.rows.size() + part.rows_before == 0 ? "]" : "\n  ]";
}

void append_left_out(std::string& out, const Section& section) {
  if (section.table.rows_left_out == 0) return;
  out += fmt::format(",\n  {}: {}", json_quote(section.key + "_rows_left_out"),
                     section.table.rows_left_out);
}

std::string head_of(const Report& report) {
  return "{\n  \"report\": " + json_quote(report.name) +
         ",\n  \"file\": " + json_quote(report.subject);
}

void append_texts(std::string& out, std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out +=
      fmt::format(",\n  {}: [\n    {}\n  ]", json_quote(key), join(texts, ",\n    ", json_quote));
}

std::string render(const Report& report, const RenderOptions&) {
  std::string out = head_of(report);
  for (const Section& section : report.sections) {
    const bool has_table = !section.table.columns.empty();
    if (!section.facts.empty() || !has_table) {
      out += ",\n  " + json_quote(has_table ? section.key + "_facts" : section.key) + ": ";
      append_facts(out, section);
    }
    if (has_table) {
      out += ",\n  " + json_quote(section.key) + ": ";
      append_rows(out, section.table, {});
      append_left_out(out, section);
      if (section.table.rows.empty() && !section.empty_text.empty()) {
        out += ",\n  " + json_quote(section.key + "_missing") + ": ";
        out += json_quote(section.empty_text);
      }
    }
    append_texts(out, section.key + "_remarks", section.remarks);
  }
  append_texts(out, "notes", report.notes);
  append_texts(out, "warnings", report.warnings);
  if (!report.definition.empty()) {
    out += ",\n  \"definition\": " + json_quote(report.definition);
  }
  out += "\n}\n";
  return out;
}

std::string render_part(const Report& report, const RenderOptions&, Part& part) {
  const Section& section = report.sections[0];
  std::string out;
  if (part.first) out = head_of(report) + ",\n  " + json_quote(section.key) + ": ";
  append_rows(out, section.table, part);
  if (!part.last) return out;
  append_left_out(out, section);
  return out + "\n}\n";
}

}  // namespace

Renderer json_renderer() {
  return {"json", "exact values, one object", false, true, render, render_part};
}

}  // namespace sonde::report
