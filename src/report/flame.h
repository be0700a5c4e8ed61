// FlameGraph: a tree of call paths as a value, and its drawing as SVG: a box for each path, as wide
// as its share of the time, below the box of its caller. The drawing is one self-contained <svg>
// element that needs no network and reads on light and on dark. Without its script it is a picture;
// with it a click on a box shows that part alone, and Search marks what contains a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::report {

struct FlameBox {
  int32_t parent = -1;   // stands before its children; -1: at the top
  std::string text;      // the function
  std::string detail;    // a second line of the tooltip: where it is from
  uint32_t colour = 0;   // index into FlameGraph::colours
  int64_t total_ns = 0;  // not less than the sum of its children
};

struct FlameGraph {
  std::string key;
  std::string title;
  std::vector<std::string> colours;  // what each colour means
  std::vector<FlameBox> boxes;       // siblings are drawn in this order
};

std::string flame_svg(const FlameGraph& graph);

}  // namespace sonde::report
