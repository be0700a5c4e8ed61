// Text for people: aligned tables that fit the terminal, human units, shortened names.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/printable.h"
#include "base/strings.h"
#include "report/cells.h"
#include "report/layout.h"
#include "report/names.h"
#include "report/render.h"

namespace sonde::report {
namespace {

constexpr size_t kTextWidth = 100;  // of paragraphs where the output has no width

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kReset = "\x1b[0m";

// The column that stays: one that has a priority, else the first of names, else the first of text.
size_t leading_column(const Table& table) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].priority > 0) return c;
  }
  for (const bool wants_name : {true, false}) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Kind kind = table.columns[c].kind;
      if (wants_name ? kind == Kind::kName : is_text(kind)) return c;
    }
  }
  return 0;
}

// What says something by all of its words takes more lines rather than be cut. Names are text, too,
// and may have spaces, so such columns are known by their keys.
bool is_prose(const Column& column) {
  constexpr std::string_view kKeys[] = {"detail", "meaning", "text", "title", "watches", "why"};
  return column.kind == Kind::kText &&
         std::find(std::begin(kKeys), std::end(kKeys), column.key) != std::end(kKeys);
}

std::vector<size_t> widths_of(const Table& table, const Cells& cells, size_t room) {
  constexpr size_t kLeastName = 40, kLeastText = 16, kLeastProse = 30;
  const size_t leading = leading_column(table);
  std::vector<ColumnNeed> needs;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    size_t width = display_width(cells.titles[c]);
    for (const auto& cell : cells.texts[c]) width = std::max(width, display_width(cell));
    ColumnNeed need{width, width, table.columns[c].priority};
    // One that may leave before others does so whole, rather than be cut.
    if (is_text(table.columns[c].kind) && need.priority >= 0) {
      need.least = std::min(width, is_prose(table.columns[c]) ? kLeastProse : kLeastText);
    }
    if (c == leading) {
      // A terminal of less than 80 columns has half of them for names.
      if (is_text(table.columns[c].kind)) {
        const size_t least = is_prose(table.columns[c]) ? kLeastProse : kLeastName;
        need.least = std::min({width, least, std::max(room / 2, kLeastText)});
      }
      need.priority = std::numeric_limits<int>::max();
    }
    needs.push_back(need);
  }
  return fit_columns(needs, room);
}

// The lines that a cell takes in a column of this width.
std::vector<std::string> lines_of(const Column& column, const std::string& cell, size_t width) {
  constexpr size_t kMostLines = 8;
  if (display_width(cell) <= width) return {cell};
  if (!is_prose(column)) return {ellipsize(cell, width)};
  std::string wrapped = wrap(ellipsize(cell, kMostLines * width), width, 0);
  wrapped.pop_back();
  std::vector<std::string> lines;
  for (const std::string_view line : split(wrapped, '\n')) lines.push_back(ellipsize(line, width));
  return lines;
}

// A row of a table, without spaces at the ends of its lines.
template <typename CellOf>
std::string row_of(const Table& table, const std::vector<size_t>& widths, bool may_cut,
                   CellOf cell_of) {
  std::vector<std::vector<std::string>> cells(widths.size());
  size_t height = 1;
  for (size_t c = 0; c < widths.size(); ++c) {
    if (widths[c] == kLeftOut) continue;
    cells[c] = {cell_of(c)};
    if (may_cut) cells[c] = lines_of(table.columns[c], cells[c][0], widths[c]);
    height = std::max(height, cells[c].size());
  }
  std::string row;
  for (size_t l = 0; l < height; ++l) {
    std::string line;
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == kLeftOut) continue;
      if (!line.empty()) line += "  ";
      const std::string_view cell = l < cells[c].size() ? cells[c][l] : std::string_view();
      line += pad(cell, widths[c], !is_text(table.columns[c].kind));
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    row += line + '\n';
  }
  return row;
}

// The rows that were left out are named below the table.
void append_left_out(std::string& out, const Table& table, const RenderOptions& options,
                     const std::vector<std::string>& column_titles,
                     const std::vector<size_t>& widths) {
  if (table.rows_left_out != 0) {
    out +=
        fmt::format("... {} more rows (--limit 0 shows all)\n", format_count(table.rows_left_out));
  }
  std::string titles;
  for (size_t c = 0; c < widths.size(); ++c) {
    if (widths[c] != kLeftOut) continue;
    titles += (titles.empty() ? "" : ", ") + column_titles[c];
  }
  if (!titles.empty()) out += wrap("... no room for: " + titles, options.width, 4);
}

void append_table(std::string& out, const Table& table, const RenderOptions& options, Part& part) {
  Cells cells = cells_of(table, options, part);
  if (part.first) part.widths = widths_of(table, cells, options.width);
  const std::vector<size_t>& widths = part.widths;
  const bool may_cut = options.width != 0;
  for (size_t c = 0; c < widths.size(); ++c) {
    if (table.columns[c].kind == Kind::kName && widths[c] != kLeftOut) {
      cells.texts[c] = cut_names(cells.texts[c], widths[c]);
    }
  }
  if (part.first) {
    std::string header = row_of(table, widths, may_cut, [&](size_t c) { return cells.titles[c]; });
    header.pop_back();
    out += options.colour ? fmt::format("{}{}{}\n", kBold, header, kReset) : header + "\n";
  }
  for (size_t r = 0; r < table.rows.size(); ++r) {
    out +=
        row_of(table, widths, may_cut || part.first, [&](size_t c) { return cells.texts[c][r]; });
  }
  append_left_out(out, table, options, cells.titles, widths);
}

void append_facts(std::string& out, const Section& section, const RenderOptions& options) {
  size_t title_width = 0;
  for (const Fact& fact : section.facts) {
    title_width = std::max(title_width, display_width(fact.title));
  }
  for (const Fact& fact : section.facts) {
    const std::string value = fact_text(fact, options.exact);
    const bool fits = options.width <= title_width + 22;
    const size_t room = fits ? 0 : options.width - title_width - 2;
    std::string title = pad(fact.title, title_width, false);
    std::string lines = !fits && is_sentence(value) ? wrap(value, room, 0) : value + '\n';
    lines.pop_back();
    for (const std::string_view line : split(lines, '\n')) {
      out += title + "  " + (fits ? std::string(line) : ellipsize(line, room)) + "\n";
      title.assign(title_width, ' ');
    }
  }
}

void append_section(std::string& out, const Section& section, const RenderOptions& options) {
  if (!out.empty()) out += '\n';
  if (!section.title.empty()) {
    const std::string title = printable(section.title);
    out += options.colour ? fmt::format("{}{}{}\n", kBold, title, kReset) : title + "\n";
  }
  append_facts(out, section, options);
  for (const Diagram& diagram : section.diagrams) {
    const bool fits = options.width == 0 || options.width >= static_cast<size_t>(diagram.width);
    if (fits) out += diagram.title + "\n" + diagram_text(diagram) + "\n";
  }
  if (!section.table.columns.empty()) {
    if (!section.facts.empty()) out += '\n';
    if (section.table.rows.empty() && !section.empty_text.empty()) {
      out +=
          wrap(printable(section.empty_text), options.width == 0 ? kTextWidth : options.width, 0);
    } else {
      Part whole;
      append_table(out, section.table, options, whole);
    }
  }
  for (const std::string& remark : section.remarks) {
    out += "\n" + wrap(printable(remark), options.width == 0 ? kTextWidth : options.width, 2);
  }
}

std::string render(const Report& report, const RenderOptions& options) {
  std::string out;
  for (const Section& section : report.sections) append_section(out, section, options);
  const size_t width = options.width == 0 ? kTextWidth : options.width;
  if (!report.notes.empty()) out += '\n';
  for (const auto& note : report.notes) out += wrap("note: " + printable(note), width, 6);
  if (!report.warnings.empty()) out += '\n';
  for (const auto& warning : report.warnings) {
    const std::string text = wrap("warning: " + printable(warning), width, 9);
    out += options.colour ? fmt::format("{}{}{}", kYellow, text, kReset) : text;
  }
  if (!report.definition.empty()) out += "\n" + wrap(report.definition, width, 0);
  return out;
}

std::string render_part(const Report& report, const RenderOptions& options, Part& part) {
  std::string out;
  append_table(out, report.sections[0].table, options, part);
  return out;
}

}  // namespace

Renderer text_renderer() { return {"text", "tables for people", true, true, render, render_part}; }

}  // namespace sonde::report
