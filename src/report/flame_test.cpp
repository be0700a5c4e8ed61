#include "report/flame.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::report {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

FlameGraph example() {
  FlameGraph flame;
  flame.title = "CPU <time>";
  flame.colours = {"own code", "libraries"};
  flame.boxes = {{-1, "all", "", 0, 100},
                 {0, "std::vector<int>::push_back", "a&b.cpp", 0, 75},
                 {0, "]]></script>", "", 1, 25},
                 {2, "thin", "", 1, 0}};
  return flame;
}

TEST(Flame, boxes_lie_side_by_side_below_their_callers) {
  const std::string svg = flame_svg(example());
  EXPECT_EQ(count(svg, "<g class=\"b\""), 3u);  // what is too thin is not drawn
  EXPECT_EQ(count(svg, "data-x=\"0.000000\" data-w=\"0.750000\" data-y=\"1\""), 1u);
  EXPECT_EQ(count(svg, "data-x=\"0.750000\" data-w=\"0.250000\" data-y=\"1\""), 1u);
  EXPECT_EQ(count(svg, "25.00 %"), 1u);
}

TEST(Flame, names_cannot_end_the_script_or_the_element) {
  const std::string svg = flame_svg(example());
  EXPECT_EQ(count(svg, "</script>"), 1u);
  EXPECT_EQ(count(svg, "CPU <time>"), 0u);
  EXPECT_EQ(count(svg, "a&amp;b.cpp"), 1u);
}

TEST(Flame, nothing_is_asked_of_a_network) {
  const std::string svg = flame_svg(example());
  EXPECT_EQ(count(svg, "://"), 1u) << "the namespace only";
  EXPECT_EQ(count(svg, "href"), 0u);
}

TEST(Flame, a_graph_without_time_is_drawn) {
  EXPECT_EQ(count(flame_svg({"k", "t", {}, {}}), "<g class=\"b\""), 0u);
  EXPECT_EQ(count(flame_svg({"k", "t", {}, {{-1, "all", "", 0, 0}}}), "<g class=\"b\""), 0u);
}

}  // namespace
}  // namespace sonde::report
