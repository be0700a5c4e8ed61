#include "report/diagram.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"

namespace sonde::report {
namespace {

constexpr double kCellWidth = 10, kCellHeight = 18;
constexpr double kMargin = 8, kTitleHeight = 26;

// Characters of a picture, which are strings of UTF-8 of one column each.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width),
        cells_(static_cast<size_t>(height),
               std::vector<std::string>(static_cast<size_t>(width), " ")) {}

  void put(int column, int row, std::string_view cell) {
    const bool is_inside =
        column >= 0 && column < width_ && row >= 0 && static_cast<size_t>(row) < cells_.size();
    if (is_inside) cells_[static_cast<size_t>(row)][static_cast<size_t>(column)] = cell;
  }
  // ASCII, cut where there is no room for it.
  void write(int column, int row, std::string_view text, int room) {
    for (int i = 0; i < room && static_cast<size_t>(i) < text.size(); ++i) {
      put(column + i, row, text.substr(static_cast<size_t>(i), 1));
    }
  }
  std::string text() const {
    std::string out;
    for (const auto& row : cells_) {
      std::string line;
      for (const std::string& cell : row) line += cell;
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  int width_;
  std::vector<std::vector<std::string>> cells_;
};

void draw(Canvas& canvas, const DiagramBox& box) {
  const int right = box.column + box.width - 1, bottom = box.row + box.height - 1;
  for (int column = box.column; column <= right; ++column) {
    canvas.put(column, box.row, "─");
    canvas.put(column, bottom, "─");
  }
  for (int row = box.row; row <= bottom; ++row) {
    canvas.put(box.column, row, "│");
    canvas.put(right, row, "│");
  }
  canvas.put(box.column, box.row, "┌");
  canvas.put(right, box.row, "┐");
  canvas.put(box.column, bottom, "└");
  canvas.put(right, bottom, "┘");
  canvas.write(box.column + 1, box.row, " " + box.title + " ", box.width - 2);
  int row = box.row + 1;
  for (const DiagramLine& line : box.lines) {
    const int length = static_cast<int>(line.value.size());
    canvas.write(box.column + 1, row, line.label, box.width - 2);
    canvas.write(std::max(right - length, box.column + 1), row++, line.value, box.width - 2);
  }
}

void draw(Canvas& canvas, const DiagramArrow& arrow) {
  const bool to_start = arrow.heads != Heads::kForth, to_end = arrow.heads != Heads::kBack;
  if (arrow.is_vertical) {
    const int end = arrow.row + arrow.length - 1;
    for (int row = arrow.row; row <= end; ++row) canvas.put(arrow.column, row, "│");
    if (to_start) canvas.put(arrow.column, arrow.row, "▲");
    if (to_end) canvas.put(arrow.column, end, "▼");
    for (size_t i = 0; i < arrow.labels.size(); ++i) {
      canvas.write(arrow.column + 2, arrow.row + 1 + static_cast<int>(i), arrow.labels[i], 80);
    }
    return;
  }
  const int end = arrow.column + arrow.length - 1;
  for (int column = arrow.column; column <= end; ++column) canvas.put(column, arrow.row, "─");
  if (to_start) canvas.put(arrow.column, arrow.row, "◄");
  if (to_end) canvas.put(end, arrow.row, "►");
  if (!arrow.labels.empty()) {
    canvas.write(arrow.column + 1, arrow.row, arrow.labels[0], arrow.length - 2);
  }
}

struct Point {
  double x, y;
};

std::string text_at(Point at, const char* anchor, std::string_view text, bool is_bold = false) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", at.x, at.y,
                     anchor, is_bold ? " font-weight=\"bold\"" : "", html_escaped(text));
}

Point corner(int column, int row) {
  return {kMargin + column * kCellWidth, kTitleHeight + row * kCellHeight};
}

std::string svg_of(const DiagramBox& box) {
  const Point at = corner(box.column, box.row);
  const double width = box.width * kCellWidth, height = box.height * kCellHeight;
  std::string out = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
      "fill=\"#3b82c4\" fill-opacity=\"0.1\" stroke=\"currentColor\" stroke-opacity=\"0.5\"/>\n",
      at.x, at.y, width, height);
  out += text_at({at.x + 8, at.y + 15}, "start", box.title, true);
  double y = at.y + 15;
  for (const DiagramLine& line : box.lines) {
    y += kCellHeight;
    if (!line.label.empty()) out += text_at({at.x + 8, y}, "start", line.label);
    if (!line.value.empty()) out += text_at({at.x + width - 8, y}, "end", line.value);
  }
  return out;
}

// A filled triangle whose point is at `tip`, and that looks along (x, y).
std::string head(Point tip, double x, double y) {
  constexpr double kLength = 6, kHalf = 3.5;
  const Point back{tip.x - x * kLength, tip.y - y * kLength};
  return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}z\"/>\n", tip.x, tip.y,
                     back.x - y * kHalf, back.y + x * kHalf, back.x + y * kHalf,
                     back.y - x * kHalf);
}

std::string svg_of(const DiagramArrow& arrow) {
  const double half_cell = arrow.is_vertical ? kCellWidth / 2 : 0;
  Point from = corner(arrow.column, arrow.row);
  from.x += half_cell;
  if (!arrow.is_vertical) from.y += kCellHeight - 2;  // below its label
  const double x = arrow.is_vertical ? 0 : 1, y = 1 - x;
  const double length = arrow.length * (arrow.is_vertical ? kCellHeight : kCellWidth);
  const Point to{from.x + x * length, from.y + y * length};
  std::string out = fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\"/>\n",
      from.x, from.y, to.x, to.y);
  if (arrow.heads != Heads::kForth) out += head(from, -x, -y);
  if (arrow.heads != Heads::kBack) out += head(to, x, y);
  for (size_t i = 0; i < arrow.labels.size(); ++i) {
    const Point beside{from.x + 12, from.y + (static_cast<double>(i) + 1.75) * kCellHeight};
    const Point above{(from.x + to.x) / 2, from.y - 4};
    out += arrow.is_vertical ? text_at(beside, "start", arrow.labels[i])
                             : text_at(above, "middle", arrow.labels[i]);
  }
  return out;
}

}  // namespace

std::string diagram_text(const Diagram& diagram) {
  Canvas canvas(diagram.width, diagram.height);
  for (const DiagramBox& box : diagram.boxes) draw(canvas, box);
  for (const DiagramArrow& arrow : diagram.arrows) draw(canvas, arrow);
  return canvas.text();
}

std::string diagram_svg(const Diagram& diagram) {
  std::string body = text_at({kMargin, 15}, "start", diagram.title, true);
  for (const DiagramBox& box : diagram.boxes) body += svg_of(box);
  for (const DiagramArrow& arrow : diagram.arrows) body += svg_of(arrow);
  const double width = 2 * kMargin + diagram.width * kCellWidth;
  const double height = kTitleHeight + kMargin + diagram.height * kCellHeight;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "role=\"img\" aria-label=\"{}\" fill=\"currentColor\" font-family=\"system-ui, sans-serif\" "
      "font-size=\"12\">\n{}</svg>\n",
      width, height, width, html_escaped(diagram.title), body);
}

}  // namespace sonde::report
