#include "report/layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/strings.h"
#include "report/report.h"

namespace sonde::report {

namespace {

size_t total_of(const std::vector<size_t>& widths) {
  size_t sum = 0;
  for (const size_t width : widths) {
    if (width != kLeftOut) sum += width + (sum == 0 ? 0 : 2);
  }
  return sum;
}

// Narrows the widest column that is wider than its minimum, at most to the width of the next
// widest.
bool shrink_widest(const std::vector<ColumnNeed>& needs, size_t excess,
                   std::vector<size_t>& widths) {
  size_t widest = widths.size();
  size_t second = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == kLeftOut || widths[i] <= needs[i].least) continue;
    if (widest == widths.size() || widths[i] > widths[widest]) {
      if (widest != widths.size()) second = std::max(second, widths[widest]);
      widest = i;
    } else {
      second = std::max(second, widths[i]);
    }
  }
  if (widest == widths.size()) return false;
  const size_t step = std::clamp<size_t>(widths[widest] - second, 1, excess);
  widths[widest] -= std::min(step, widths[widest] - needs[widest].least);
  return true;
}

}  // namespace

std::vector<size_t> fit_columns(const std::vector<ColumnNeed>& needs, size_t room) {
  std::vector<size_t> widths;
  for (const ColumnNeed& need : needs) widths.push_back(room == 0 ? need.natural : need.least);
  if (room == 0) return widths;
  for (size_t left = widths.size(); left > 1 && total_of(widths) > room; --left) {
    size_t out = widths.size();
    for (size_t i = widths.size(); i-- > 0;) {
      if (widths[i] == kLeftOut) continue;
      if (out == widths.size() || needs[i].priority < needs[out].priority) out = i;
    }
    widths[out] = kLeftOut;
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] != kLeftOut) widths[i] = needs[i].natural;
  }
  for (size_t total = total_of(widths); total > room; total = total_of(widths)) {
    if (!shrink_widest(needs, total - room, widths)) break;
  }
  return widths;
}

namespace {

Column& column_of(Table& table, const char* key) {
  const int column = find_column(table, key);
  SONDE_CHECK(column >= 0);
  return table.columns[static_cast<size_t>(column)];
}

}  // namespace

void leave_first(Table& table, std::initializer_list<const char*> keys) {
  int priority = -static_cast<int>(keys.size());
  for (const char* key : keys) column_of(table, key).priority = priority++;
}

void lead_with(Table& table, const char* key) { column_of(table, key).priority = 1; }

namespace {

// Byte offset of the code point number `count`.
size_t offset_of(std::string_view text, size_t count) {
  size_t i = 0;
  while (i < text.size() && count > 0) {
    ++i;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) ++i;
    --count;
  }
  return i;
}

}  // namespace

bool is_sentence(std::string_view text) {
  constexpr std::ptrdiff_t kLeastSpaces = 4;
  return std::count(text.begin(), text.end(), ' ') >= kLeastSpaces;
}

std::string ellipsize(std::string_view text, size_t width) {
  const size_t full = display_width(text);
  if (full <= width) return std::string(text);
  if (width <= 3) return std::string(text.substr(0, offset_of(text, width)));
  const size_t head = (width - 2) * 2 / 3;
  const size_t tail = width - 2 - head;
  std::string_view begin = text.substr(0, offset_of(text, head));
  std::string_view end = text.substr(offset_of(text, full - tail));
  if (is_sentence(text)) {  // whole words
    begin = begin.substr(0, std::min(begin.size(), begin.rfind(' ') + 1));
    end = end.substr(std::min(end.size(), end.find(' ')));
  }
  return std::string(begin) + ".." + std::string(end);
}

std::string pad(std::string_view text, size_t width, bool right_align) {
  const size_t own = display_width(text);
  const std::string spaces(own < width ? width - own : 0, ' ');
  return right_align ? spaces + std::string(text) : std::string(text) + spaces;
}

std::string wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  for (const std::string_view paragraph : split(text, '\n')) {
    if (paragraph.empty() || paragraph.front() == ' ') {
      out += std::string(paragraph) + '\n';
      continue;
    }
    size_t column = 0;
    for (const std::string_view word : split(paragraph, ' ')) {
      if (word.empty()) continue;
      const size_t length = display_width(word);
      if (column != 0 && column + 1 + length > width) {
        out += '\n' + std::string(indent, ' ');
        column = indent;
      } else if (column != 0) {
        out += ' ';
        ++column;
      }
      out += word;
      column += length;
    }
    out += '\n';
  }
  return out;
}

size_t terminal_width(int fd) {
  if (::isatty(fd) == 0) return 0;
  constexpr size_t kLeast = 40;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const auto value = parse_int(columns); value && *value > 0) {
      return std::max(kLeast, static_cast<size_t>(*value));
    }
  }
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<size_t>(kLeast, size.ws_col);
  }
  return 80;
}

bool wants_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(fd) != 0;
}

}  // namespace sonde::report
