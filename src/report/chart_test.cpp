#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "report/axis_scale.h"
#include "report/html.h"

namespace sonde::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> texts_of(const AxisScale& scale) {
  std::vector<std::string> texts;
  for (const Tick& tick : scale.ticks()) texts.push_back(tick.text);
  return texts;
}

// The numbers of an attribute, in the order of the picture.
std::vector<double> attributes(const std::string& svg, const std::string& pattern) {
  std::vector<double> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator i(svg.begin(), svg.end(), regex), end; i != end; ++i) {
    found.push_back(std::stod((*i)[1]));
  }
  return found;
}

// Every element that is opened is closed, in order.
bool balanced(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex regex("<(/?)([a-z]+)[^>]*?(/?)>");
  for (std::sregex_iterator i(svg.begin(), svg.end(), regex), end; i != end; ++i) {
    if ((*i)[3].length() != 0) continue;
    if ((*i)[1].length() == 0) {
      open.push_back((*i)[2]);
    } else {
      if (open.empty() || open.back() != (*i)[2]) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

Chart bars() {
  Chart chart;
  chart.title = "Where <the> time went";
  chart.rows = {"gpu 0", "gpu 1 & \"more\""};
  chart.x = {"Time", Kind::kTime};
  chart.series = {{"compute", {2e6, 1e6}, {}, Mark::kLine, {}},
                  {"idle", {1e6, 3e6}, {}, Mark::kLine, {}}};
  return chart;
}

TEST(AxisScale, ChoosesUnitsAndRoundSteps) {
  const AxisScale time({"Time", Kind::kTime}, 0, 2.3e6, 5);
  EXPECT_EQ(time.title(), "Time (ms)");
  EXPECT_EQ(texts_of(time), (std::vector<std::string>{"0.0", "0.5", "1.0", "1.5", "2.0", "2.5"}));
  EXPECT_DOUBLE_EQ(time.share(1.25e6), 0.5);

  const AxisScale memory({"In use", Kind::kBytes}, 0, 3.0 * 1073741824, 4);
  EXPECT_EQ(memory.title(), "In use (GiB)");
  EXPECT_EQ(texts_of(memory), (std::vector<std::string>{"0", "1", "2", "3"}));

  // Counts have no fractions.
  EXPECT_EQ(texts_of(AxisScale({"Calls", Kind::kInteger}, 0, 2, 8)),
            (std::vector<std::string>{"0", "1", "2"}));
}

TEST(AxisScale, CoversWhatIsBelowZeroAndASingleValue) {
  const AxisScale delta({"Change", Kind::kPercent}, -12, 30, 5);
  EXPECT_EQ(delta.title(), "Change (%)");
  EXPECT_EQ(texts_of(delta), (std::vector<std::string>{"-20", "-10", "0", "10", "20", "30"}));
  EXPECT_EQ(texts_of(AxisScale({"", Kind::kReal}, 0, 0, 2)),
            (std::vector<std::string>{"0.0", "0.5", "1.0"}));
}

TEST(AxisScale, LogarithmicTicksAreDecades) {
  const AxisScale scale({"FLOP/byte", Kind::kReal, true}, 0.3, 200, 6);
  EXPECT_EQ(texts_of(scale), (std::vector<std::string>{"0.1", "1", "10", "100", "1000"}));
  EXPECT_DOUBLE_EQ(scale.share(10), 0.5);
}

TEST(Chart, BarsAreAsLongAsTheirValuesAndStacked) {
  const std::string svg = chart_svg(bars());
  EXPECT_TRUE(balanced(svg));
  const std::string bar = "height=\"16.0\"";  // those of the legend are 12
  const auto lengths = attributes(svg, "width=\"([0-9.]+)\" " + bar);
  const auto starts = attributes(svg, "x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"[0-9.]+\" " + bar);
  ASSERT_EQ(lengths.size(), 4u);  // by row: compute, idle
  EXPECT_NEAR(lengths[0] / lengths[1], 2, 0.01);
  EXPECT_NEAR(lengths[3] / lengths[2], 3, 0.01);
  EXPECT_NEAR(starts[1], starts[0] + lengths[0], 0.11);
  EXPECT_EQ(starts[0], starts[2]);
  EXPECT_NE(svg.find("<title>idle: 3.00 ms</title>"), std::string::npos) << svg;
}

TEST(Chart, NamesAreEscaped) {
  const std::string svg = chart_svg(bars());
  EXPECT_NE(svg.find("Where &lt;the&gt; time went"), std::string::npos);
  EXPECT_NE(svg.find("gpu 1 &amp; &quot;more&quot;"), std::string::npos);
  EXPECT_EQ(html_escaped("a\x01\n"), "a \n");  // printable() of base/strings.h
}

TEST(Chart, IsNeverWithoutALabel) {
  Chart chart = bars();
  const auto label = [&] {
    std::smatch found;
    const std::string svg = chart_svg(chart);
    const bool any = std::regex_search(svg, found, std::regex("aria-label=\"([^\"]*)\""));
    return any ? found[1].str() : std::string();
  };
  EXPECT_EQ(label(), "Where &lt;the&gt; time went");
  chart.title = "";
  EXPECT_EQ(label(), "compute, idle of gpu 0, gpu 1 &amp; &quot;more&quot;");
  chart.rows = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(label(), "compute, idle of a, b, c and 2 more");
  chart.rows.clear();
  chart.series.clear();
  EXPECT_EQ(label(), "no values");
}

TEST(Chart, NegativeBarsGoLeftOfZero) {
  Chart chart = bars();
  chart.series = {{"delta", {-1e6, 1e6}, {}, Mark::kLine, {}}};
  const std::string svg = chart_svg(chart);
  const auto starts =
      attributes(svg, "x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"[0-9.]+\" height=\"16.0\"");
  const auto lengths = attributes(svg, "width=\"([0-9.]+)\" height=\"16.0\"");
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_NEAR(starts[0] + lengths[0], starts[1], 0.11);
}

TEST(Chart, PlotsLeaveOutWhatCannotBeDrawn) {
  Chart chart;
  chart.title = "Roofline";
  chart.x = {"FLOP/byte", Kind::kReal, true};
  chart.y = {"TFLOP/s", Kind::kReal, true};
  chart.series = {{"roof", {1, 100, 100}, {0.1, 10, 1000}, Mark::kLine, {}},
                  {"kernels", {50, kNaN, 0}, {10, 10, 10}, Mark::kPoints, {"gemm", "a", "b"}}};
  const std::string svg = chart_svg(chart);
  EXPECT_TRUE(balanced(svg));
  EXPECT_EQ(attributes(svg, "<circle cx=\"([0-9.]+)\"").size(), 1u);
  EXPECT_NE(svg.find("<title>gemm: 50</title>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, WithoutValuesSaysSo) {
  Chart chart;
  chart.series = {{"nothing", {kNaN}, {1}, Mark::kSteps, {}}};
  EXPECT_NE(chart_svg(chart).find("no values"), std::string::npos);
  EXPECT_TRUE(balanced(chart_svg(chart)));
  chart.rows = {"a row"};
  EXPECT_TRUE(balanced(chart_svg(chart)));
}

}  // namespace
}  // namespace sonde::report
