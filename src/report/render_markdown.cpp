// Markdown: pipe tables for issues, wikis and notebooks. Human units, names as in text, sections as
// headings.
#include <fmt/format.h>

#include "base/printable.h"
#include "base/strings.h"
#include "report/cells.h"
#include "report/render.h"

namespace sonde::report {
namespace {

// A bar ends a cell; the others begin emphasis, code, links or tags.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, Lines::kKeep)) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

void append_header(std::string& out, const Table& table, const Cells& cells) {
  out += '|';
  for (const std::string& title : cells.titles) out += " " + escaped(title) + " |";
  out += "\n|";
  for (const Column& column : table.columns) out += is_text(column.kind) ? "---|" : "---:|";
  out += '\n';
}

void append_rows(std::string& out, const Table& table, const Cells& shown) {
  const auto& cells = shown.texts;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    out += '|';
    for (const auto& column : cells) out += " " + escaped(column[r]) + " |";
    out += '\n';
  }
  if (table.rows_left_out != 0) {
    out += fmt::format("\n{} more rows are left out.\n", format_count(table.rows_left_out));
  }
}

void append_facts(std::string& out, const Section& section, const RenderOptions& options) {
  out += "| | |\n|---|---:|\n";
  for (const Fact& fact : section.facts) {
    out +=
        fmt::format("| {} | {} |\n", escaped(fact.title), escaped(fact_text(fact, options.exact)));
  }
}

std::string head_of(const Report& report) {
  return fmt::format("# sonde {}: {}\n", report.name, escaped(report.subject));
}

std::string render(const Report& report, const RenderOptions& options) {
  std::string out = head_of(report);
  for (const std::string& warning : report.warnings) {
    out += "\n**Warning:** " + escaped(warning) + "\n";
  }
  for (const Section& section : report.sections) {
    if (!section.title.empty()) out += "\n## " + escaped(section.title) + "\n";
    if (!section.facts.empty()) {
      out += '\n';
      append_facts(out, section, options);
    }
    for (const Diagram& diagram : section.diagrams) {
      out += "\n" + escaped(diagram.title) + "\n\n```\n" + diagram_text(diagram) + "```\n";
    }
    if (!section.table.columns.empty()) {
      out += '\n';
      if (section.table.rows.empty() && !section.empty_text.empty()) {
        out += escaped(section.empty_text) + "\n";
      } else {
        Part whole;
        const Cells cells = cells_of(section.table, options, whole);
        append_header(out, section.table, cells);
        append_rows(out, section.table, cells);
      }
    }
    for (const std::string& remark : section.remarks)
      out += "\n" + escaped(printable(remark)) + "\n";
  }
  for (const std::string& note : report.notes) out += "\nNote: " + escaped(printable(note)) + "\n";
  if (!report.definition.empty()) {
    out += "\n## What the figures mean\n\n" + escaped(report.definition);
  }
  return out;
}

std::string render_part(const Report& report, const RenderOptions& options, Part& part) {
  const Table& table = report.sections[0].table;
  const Cells cells = cells_of(table, options, part);
  std::string out;
  if (part.first) {
    out = head_of(report) + "\n";
    append_header(out, table, cells);
  }
  append_rows(out, table, cells);
  return out;
}

}  // namespace

Renderer markdown_renderer() {
  return {"markdown", "tables for issues and wikis", true, true, render, render_part};
}

}  // namespace sonde::report
