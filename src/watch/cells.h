// A screen of character cells, and the bytes that bring a terminal from one state of it to the
// next: cursor addressing and colours of ECMA-48 only, and only for cells that differ. Knows
// nothing of what is drawn. Used by the full screen of `sonde monitor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::watch {

enum class Style : uint8_t { kPlain, kBold, kDim, kTitle, kGood, kWarn, kBad, kBar };

struct Cell {
  char32_t character = U' ';
  Style style = Style::kPlain;
  bool operator==(const Cell&) const = default;
};

class Cells {
 public:
  Cells(int columns, int rows);

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  // Writes text into a row, at most `width` cells and never past the edge; what takes no cell or
  // two of them becomes '?'. Returns the column behind it.
  int put(int row, int column, std::string_view text, Style style = Style::kPlain,
          int width = 1 << 20);
  void put_right(int row, int column, int width, std::string_view text,
                 Style style = Style::kPlain);
  void set(int row, int column, char32_t character, Style style = Style::kPlain);
  void fill(int row, Style style);
  const Cell& at(int row, int column) const;
  std::string row_text(int row) const;  // without blanks at its end

 private:
  int columns_, rows_;
  std::vector<Cell> cells_;
};

// What to send so that a terminal that shows `before` shows `now`. With no `before` of that size,
// everything.
std::string difference(const Cells* before, const Cells& now, bool colour);

}  // namespace sonde::watch
