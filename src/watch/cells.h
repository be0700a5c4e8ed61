// A screen of character cells, and the bytes that update a terminal from one screen to the next:
// only ECMA-48 cursor addressing and colours, and only for cells that differ. Used by the full
// screen of `sonde monitor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::watch {

enum class Style : uint8_t { kPlain, kBold, kDim, kTitle, kWarn, kBad, kBar };

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
  // Writes text into a row, at most `width` cells and never past the edge; characters that take no
  // cell or two become '?'. Returns the column after the text.
  int put(int row, int column, std::string_view text, Style style = Style::kPlain,
          int width = 1 << 20);
  void put_right(int row, int column, int width, std::string_view text,
                 Style style = Style::kPlain);
  void set(int row, int column, char32_t character, Style style = Style::kPlain);
  void fill(int row, Style style);
  const Cell& at(int row, int column) const;
  std::string row_text(int row) const;  // without trailing spaces

 private:
  int columns_, rows_;
  std::vector<Cell> cells_;
};

// The bytes that make a terminal that shows `before` show `now`; everything if `before` is null or
// has another size.
std::string difference(const Cells* before, const Cells& now, bool colour);

}  // namespace sonde::watch
