#include "report/layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"

namespace sonde::report {

std::vector<size_t> fit_widths(std::vector<size_t> natural, const std::vector<bool>& shrinkable,
                               size_t room) {
  constexpr size_t kLeast = 12;
  if (room == 0 || natural.empty()) return natural;
  const auto total = [&] {
    size_t sum = 2 * (natural.size() - 1);
    for (const size_t width : natural) sum += width;
    return sum;
  };
  while (total() > room) {
    size_t widest = natural.size();
    size_t second = kLeast;
    for (size_t i = 0; i < natural.size(); ++i) {
      if (!shrinkable[i] || natural[i] <= kLeast) continue;
      if (widest == natural.size() || natural[i] > natural[widest]) {
        if (widest != natural.size()) second = std::max(second, natural[widest]);
        widest = i;
      } else {
        second = std::max(second, natural[i]);
      }
    }
    if (widest == natural.size()) break;
    const size_t excess = total() - room;
    const size_t step = std::max<size_t>(1, std::min(excess, natural[widest] - second));
    natural[widest] -= std::min(step, natural[widest] - kLeast);
  }
  return natural;
}

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

std::string ellipsize(std::string_view text, size_t width) {
  const size_t full = display_width(text);
  if (full <= width) return std::string(text);
  if (width <= 3) return std::string(text.substr(0, offset_of(text, width)));
  const size_t head = (width - 2) * 2 / 3;
  const size_t tail = width - 2 - head;
  return std::string(text.substr(0, offset_of(text, head))) + ".." +
         std::string(text.substr(offset_of(text, full - tail)));
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
