// Reports on a terminal: long lines are wrapped.
#include <algorithm>

#include "base/strings.h"
#include "fault/text.h"
#include "report/layout.h"

namespace sonde::fault {

namespace {

constexpr size_t kMostLabel = 16;  // "  likely cause  "
constexpr size_t kLeastRoom = 32;

// The column after a label ("  likely cause  ", "  because       ") or an argument's number;
// otherwise 4 columns more than the line's own indent.
size_t indent_of(const std::string& line, size_t begin) {
  const size_t gap = line.find("  ", begin);
  const size_t text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return text != std::string::npos && text <= kMostLabel ? text : begin + 4;
}

void add_broken(const std::string& line, size_t width, std::string& out) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t indent = std::min(indent_of(line, begin), width - kLeastRoom);
  const bool has_label = indent <= line.size() && indent > begin && line[indent - 1] == ' ';
  const size_t from = has_label ? indent : begin;
  const std::string broken = report::wrap(line.substr(from), width - from, indent - from);
  size_t at = 0;
  for (const auto part : split(std::string_view(broken).substr(0, broken.size() - 1), '\n')) {
    out += (at++ == 0 ? line.substr(0, from) : std::string(from, ' ')) + std::string(part) + "\n";
  }
}

}  // namespace

std::string fitted(const std::string& text, size_t width) {
  if (width < kLeastRoom + kMostLabel) return text;
  std::string out;
  const std::string_view body = text.ends_with('\n')
                                    ? std::string_view(text).substr(0, text.size() - 1)
                                    : std::string_view(text);
  for (const auto part : split(body, '\n')) {
    const std::string line(part);
    if (display_width(line) <= width) {
      out += line + "\n";
    } else {
      add_broken(line, width, out);
    }
  }
  if (!text.ends_with('\n')) out.pop_back();
  return out;
}

std::string fitted_to_terminal(const std::string& text, int fd) {
  return fitted(text, report::terminal_width(fd));
}

}  // namespace sonde::fault
