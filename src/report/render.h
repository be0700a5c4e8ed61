// Renderers: a Report as bytes. A new one is a file in report/ that defines
// `Renderer NAME_renderer()`; the build finds it and --format offers it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "report/unit.h"

namespace sonde::report {

struct RenderOptions {
  size_t width = 0;  // terminal columns; 0 = as wide as needed
  bool colour = false;
  bool full_names = false;  // kName cells whole, not shortened
  bool exact = false;       // times in nanoseconds, sizes in bytes, shares with all their digits
};

// One of the parts in which a table is written that may be too long to be held. The report has one
// section with the rows of the part, and nothing but the table.
struct Part {
  bool first = true, last = true;
  size_t rows_before = 0;
  // The first part decides them.
  std::vector<TimeUnit> units = {};
  std::vector<size_t> widths = {};  // of text
};

struct Renderer {
  std::string name;     // "json": value of --format
  std::string summary;  // one phrase for --help
  bool for_people;      // rows may be left out and names shortened unless asked otherwise
  bool shows_warnings;  // false: the caller prints Report::warnings on stderr
  std::string (*render)(const Report& report, const RenderOptions& options);
  std::string (*render_part)(const Report& report, const RenderOptions& options, Part& part);
};

// Generated from the files of report/.
std::span<const Renderer> all_renderers();
const Renderer* find_renderer(std::string_view name);

// One value for people ("12.3 ms", "1.5 GiB", "-" if unknown), of a column's kind.
std::string text_of(const Value& value, const Column& column, bool exact = false);

}  // namespace sonde::report
