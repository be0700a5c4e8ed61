// HTML: one self-contained page, light and dark, without anything from a network, and without
// scripts but that of flame graphs. Numbers are aligned, and every cell that is shortened has its
// whole value as a tooltip.
#include <fmt/format.h>

#include "base/printable.h"
#include "base/strings.h"
#include "report/cells.h"
#include "report/html.h"
#include "report/render.h"

namespace sonde::report {

std::string html_escaped(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr const char* kEscaped[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : printable(text, Lines::kKeep)) {
    const size_t special = kSpecial.find(c);
    if (special == kSpecial.npos) {
      out += c;
    } else {
      out += kEscaped[special];
    }
  }
  return out;
}

const char* const kHtmlStyle =
    ":root{color-scheme:light dark;--line:#8884;--quiet:#777;--warn:#b35900}"
    "@media(prefers-color-scheme:dark){:root{--warn:#ffb454}}"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums;"
    "display:block;overflow-x:auto}"
    "th,td{padding:.2em .7em;border-bottom:1px solid var(--line);text-align:left;"
    "white-space:pre}"
    "td.n,th.n{text-align:right}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}"
    "svg{display:block;max-width:100%;height:auto;margin:.6em 0}.warning{color:var(--warn)}"
    "nav ul{display:flex;flex-wrap:wrap;gap:.2em 1.2em;list-style:none;padding:0}"
    ".note,.more{color:var(--quiet)}pre{white-space:pre-wrap}";

namespace {

void append_cells(std::string& out, const Table& table, const Cells& shown) {
  const auto& cells = shown.texts;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    out += "<tr>";
    for (size_t c = 0; c < cells.size(); ++c) {
      out += is_text(table.columns[c].kind) ? "<td" : "<td class=\"n\"";
      const auto* whole = std::get_if<std::string>(&table.rows[r][c]);
      if (whole != nullptr && *whole != cells[c][r]) {
        out += " title=\"" + html_escaped(*whole) + "\"";
      }
      out += ">" + html_escaped(cells[c][r]) + "</td>";
    }
    out += "</tr>\n";
  }
}

void append_header(std::string& out, const Table& table, const Cells& cells) {
  out += "<table>\n<tr>";
  for (size_t c = 0; c < table.columns.size(); ++c) {
    out += is_text(table.columns[c].kind) ? "<th>" : "<th class=\"n\">";
    out += html_escaped(cells.titles[c]) + "</th>";
  }
  out += "</tr>\n";
}

void append_end(std::string& out, const Table& table) {
  out += "</table>\n";
  if (table.rows_left_out != 0) {
    out += fmt::format("<p class=\"more\">{} more rows are left out.</p>\n",
                       format_count(table.rows_left_out));
  }
}

}  // namespace

std::string html_section(const Section& section, const RenderOptions& options) {
  std::string out;
  if (!section.title.empty()) {
    out += fmt::format("<h2 id=\"{}\">{}</h2>\n", html_escaped(section.key),
                       html_escaped(section.title));
  }
  if (!section.facts.empty()) {
    out += "<table>\n";
    for (const Fact& fact : section.facts) {
      out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", html_escaped(fact.title),
                         html_escaped(fact_text(fact, options.exact)));
    }
    out += "</table>\n";
  }
  for (const Chart& chart : section.charts) out += chart_svg(chart);
  for (const FlameGraph& flame : section.flames) out += flame_svg(flame);
  for (const Diagram& diagram : section.diagrams) out += diagram_svg(diagram);
  if (!section.table.columns.empty()) {
    if (section.table.rows.empty() && !section.empty_text.empty()) {
      out += "<p>" + html_escaped(section.empty_text) + "</p>\n";
    } else {
      Part whole;
      const Cells cells = cells_of(section.table, options, whole);
      append_header(out, section.table, cells);
      append_cells(out, section.table, cells);
      append_end(out, section.table);
    }
  }
  for (const std::string& remark : section.remarks) {
    out += "<p>" + html_escaped(remark) + "</p>\n";
  }
  return out;
}

namespace {

std::string head_of(const Report& report) {
  const std::string title = html_escaped("sonde " + report.name + ": " + report.subject);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         title + "</title>\n<style>" + kHtmlStyle + "</style>\n</head>\n<body>\n<h1>" + title +
         "</h1>\n";
}

constexpr std::string_view kEnd = "</body>\n</html>\n";

// Links to the sections, where there are enough to get lost in.
std::string contents_of(const Report& report) {
  constexpr size_t kEnough = 3;
  std::string links;
  size_t count = 0;
  for (const Section& section : report.sections) {
    if (section.title.empty()) continue;
    ++count;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", html_escaped(section.key),
                         html_escaped(section.title));
  }
  return count < kEnough ? "" : "<nav><ul>\n" + links + "</ul></nav>\n";
}

std::string render(const Report& report, const RenderOptions& options) {
  std::string out = head_of(report) + contents_of(report);
  for (const std::string& warning : report.warnings) {
    out += "<p class=\"warning\">Warning: " + html_escaped(warning) + "</p>\n";
  }
  for (const Section& section : report.sections) out += html_section(section, options);
  for (const std::string& note : report.notes) {
    out += "<p class=\"note\">Note: " + html_escaped(note) + "</p>\n";
  }
  if (!report.definition.empty()) {
    out += "<h2>What the figures mean</h2>\n<pre>" + html_escaped(report.definition) + "</pre>\n";
  }
  return out.append(kEnd);
}

std::string render_part(const Report& report, const RenderOptions& options, Part& part) {
  const Table& table = report.sections[0].table;
  const Cells cells = cells_of(table, options, part);
  std::string out;
  if (part.first) {
    out = head_of(report);
    append_header(out, table, cells);
  }
  append_cells(out, table, cells);
  if (!part.last) return out;
  append_end(out, table);
  return out.append(kEnd);
}

}  // namespace

Renderer html_renderer() {
  return {"html", "one self-contained page", true, true, render, render_part};
}

}  // namespace sonde::report
