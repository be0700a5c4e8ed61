#include "watch/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace sonde::watch {

namespace {

constexpr Cell kOutside;

// Decodes the next character of valid UTF-8.
char32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t character = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length && i < text.size(); ++i) {
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  text.remove_prefix(std::min(length, text.size()));
  return character;
}

// Whether a terminal certainly uses one cell for it: Latin, Greek, Cyrillic, symbols.
bool is_one_cell(char32_t c) {
  return (c >= 0x20 && c < 0x7f) || (c >= 0xa1 && c < 0x300) || (c >= 0x370 && c < 0x483) ||
         (c >= 0x48a && c < 0x590) || (c >= 0x2010 && c < 0x2028) || (c >= 0x2190 && c < 0x2300) ||
         (c >= 0x2500 && c < 0x25fd) || (c >= 0x2800 && c < 0x2900);
}

void append_utf8(std::string& out, char32_t c) {
  const auto byte = [&](char32_t value) { out += static_cast<char>(value); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | c >> 6);
  } else {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
  }
  byte(0x80 | (c & 0x3f));
}

const char* select(Style style, bool colour) {
  constexpr const char* kColours[] = {"0", "0;1", "0;2", "0;7", "0;33", "0;1;31", "0;36"};
  constexpr const char* kPlain[] = {"0", "0;1", "0;2", "0;7", "0;1", "0;1", "0"};
  return (colour ? kColours : kPlain)[static_cast<int>(style)];
}

}  // namespace

Cells::Cells(int columns, int rows)
    : columns_(std::max(columns, 0)),
      rows_(std::max(rows, 0)),
      cells_(static_cast<size_t>(columns_) * static_cast<size_t>(rows_)) {}

void Cells::set(int row, int column, char32_t character, Style style) {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return;
  cells_[static_cast<size_t>(row * columns_ + column)] = {character, style};
}

const Cell& Cells::at(int row, int column) const {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return kOutside;
  return cells_[static_cast<size_t>(row * columns_ + column)];
}

int Cells::put(int row, int column, std::string_view text, Style style, int width) {
  const std::string valid = valid_utf8(text);
  const int end = width < columns_ - column ? column + width : columns_;
  for (std::string_view rest = valid; !rest.empty() && column < end; ++column) {
    const char32_t character = take_character(rest);
    set(row, column, is_one_cell(character) ? character : U'?', style);
  }
  return column;
}

void Cells::put_right(int row, int column, int width, std::string_view text, Style style) {
  const int length = static_cast<int>(display_width(valid_utf8(text)));
  put(row, column + std::max(0, width - length), text, style, std::min(width, length));
}

void Cells::fill(int row, Style style) {
  for (int column = 0; column < columns_; ++column) set(row, column, U' ', style);
}

std::string Cells::row_text(int row) const {
  std::string text;
  for (int column = 0; column < columns_; ++column) append_utf8(text, at(row, column).character);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string difference(const Cells* before, const Cells& now, bool colour) {
  const bool all =
      before == nullptr || before->columns() != now.columns() || before->rows() != now.rows();
  std::string out = all ? "\x1b[0m\x1b[2J" : "";
  const Cells blank(now.columns(), now.rows());
  const Cells& shown = all ? blank : *before;
  bool styled = false;
  for (int row = 0; row < now.rows(); ++row) {
    int written = -2;  // the cursor is after this column
    Style style = Style::kPlain;
    for (int column = 0; column < now.columns(); ++column) {
      const Cell& cell = now.at(row, column);
      if (cell == shown.at(row, column)) continue;
      if (written != column) out += fmt::format("\x1b[{};{}H", row + 1, column + 1);
      if (written < 0 || style != cell.style) {
        out += fmt::format("\x1b[{}m", select(cell.style, colour));
        styled = true;
      }
      style = cell.style;
      append_utf8(out, cell.character);
      written = column + 1;
    }
  }
  if (styled) out += "\x1b[0m";
  return out;
}

}  // namespace sonde::watch
