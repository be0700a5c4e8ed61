// Diagram: boxes with figures and arrows between them, as a value on a grid of characters, so that
// the same picture is drawn as text and as SVG. The SVG inherits the text colour of the page and
// needs no script.
#pragma once

#include <string>
#include <vector>

namespace sonde::report {

struct DiagramLine {
  std::string label, value;  // at the left and the right edge of the box
};

struct DiagramBox {
  std::string title;
  int column = 0, row = 0, width = 0, height = 0;  // with the frame
  std::vector<DiagramLine> lines;
};

enum class Heads { kBack, kForth, kBoth };  // back: to the left, or up

// From the edge of one box to that of another.
struct DiagramArrow {
  int column = 0, row = 0;
  int length = 0;
  bool is_vertical = false;
  Heads heads = Heads::kForth;
  std::vector<std::string> labels;  // one on a level arrow, one for each row beside an upright one
};

struct Diagram {
  std::string key;
  std::string title;
  int width = 80, height = 0;
  std::vector<DiagramBox> boxes;
  std::vector<DiagramArrow> arrows;
};

// Lines of `width` columns at most, each ended by LF.
std::string diagram_text(const Diagram& diagram);
std::string diagram_svg(const Diagram& diagram);

}  // namespace sonde::report
