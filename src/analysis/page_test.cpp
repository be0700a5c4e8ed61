#include "analysis/page.h"

#include "analysis/analysis_test_support.h"
#include "report/html.h"

namespace sonde::analysis {
namespace {

report::Report page(const trace::TraceBuilder& rows) {
  auto made = page_of(rows.build(0, page_needs()), 15, 5);
  EXPECT_TRUE(made.ok());
  return made.ok() ? std::move(*made) : report::Report{};
}

trace::TraceBuilder busy_and_idle() {
  trace::TraceBuilder rows;
  const int first = rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50});
  const int second = rows.add(ApiRow{"hip", "hipLaunchKernel", 3900, 3950});
  rows.add(OpRow{"void a<int>(int*)", 100, 1100, first});
  rows.add(OpRow{"b & \"c\"", 4100, 5100, second});
  return rows;
}

TEST(Page, SaysWhatRanAndWhatStandsOut) {
  const auto report = page(busy_and_idle());
  const auto& facts = section_of(report, "trace").facts;
  Lines lines;
  for (const auto& fact : facts) lines.push_back(fact.key + "=" + cell_text(fact.value));
  EXPECT_EQ(lines,
            (Lines{"gpus=1", "operations=2", "calls=2", "wall_ns=5000", "busy_percentage=40"}));
  EXPECT_EQ(lines_of(section_of(report, "check").table, {"finding", "cost_ns"}).front(),
            "launch-bound|3000");
  EXPECT_FALSE(section_of(report, "check").remarks.empty());
}

// The charts are drawn from the tables below them, and leave out what is not there.
TEST(Page, ChartsShowTheTables) {
  const auto report = page(busy_and_idle());
  const auto& breakdown = section_of(report, "breakdown");
  ASSERT_EQ(breakdown.charts.size(), 1u);
  const report::Chart& chart = breakdown.charts.front();
  EXPECT_EQ(chart.rows, (std::vector<std::string>{"GPU 0"}));
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].name, "compute");
  EXPECT_EQ(chart.series[0].values, (std::vector<double>{2000}));
  EXPECT_EQ(chart.series[1].values, (std::vector<double>{3000}));
  EXPECT_EQ(section_of(report, "kernels").charts.front().rows,
            (std::vector<std::string>{"b & \"c\"", "a"}));
}

TEST(Page, IsOnePageThatNeedsNothingElse) {
  const std::string html = report::find_renderer("html")->render(page(busy_and_idle()), {});
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
}

TEST(Page, SaysWhatIsMissing) {
  const auto report = page({});
  EXPECT_TRUE(section_of(report, "check").table.rows.empty());
  EXPECT_NE(section_of(report, "check").empty_text.find("No operations"), std::string::npos);
  EXPECT_TRUE(section_of(report, "breakdown").charts.empty());
  EXPECT_NE(json_of(report).find("\"busy_percentage\": null"), std::string::npos);
}

}  // namespace
}  // namespace sonde::analysis
