#include "analysis/page/page.h"

#include "analysis/analysis_test_support.h"
#include "analysis/findings/findings.h"

namespace sonde::analysis {
namespace {

report::Report page(const trace::TraceBuilder& rows) {
  return value_of(page_of(rows.build(0, page_needs()), 15, 5));
}

trace::TraceBuilder busy_and_idle() {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50}, OpRow{"void a<int>(int*)", 100, 1100});
  rows.add(ApiRow{"hip", "hipLaunchKernel", 3900, 3950}, OpRow{"b & \"c\"", 4100, 5100});
  return rows;
}

TEST(Page, SaysWhatRanAndWhatStandsOut) {
  const auto report = page(busy_and_idle());
  const auto& facts = section_of(report, "trace").facts;
  Lines lines;
  for (const auto& fact : facts) lines.push_back(fact.key + "=" + cell_text(fact.value));
  EXPECT_EQ(lines,
            (Lines{"gpus=1", "operations=2", "calls=2", "wall_ns=5000", "busy_percentage=40"}));
  EXPECT_EQ(lines_of(report, "check", {"finding", "cost_ns"}).front(), "launch-bound|3000");
  EXPECT_FALSE(section_of(report, "check").remarks.empty());
}

// Parts of 25 ns: the GPU is busy in the first and the last fifth.
TEST(Page, TheStripShowsWhenTheGpuWasBusy) {
  const auto report = page(busy_and_idle());
  const auto& charts = section_of(report, "trace").charts;
  ASSERT_EQ(charts.size(), 1u);
  ASSERT_EQ(charts[0].series.size(), 1u);
  const auto& values = charts[0].series[0].values;
  ASSERT_EQ(values.size(), 201u);
  for (size_t part = 0; part < values.size(); ++part) {
    EXPECT_EQ(values[part], part < 40 || part >= 160 ? 100 : 0) << part;
  }
  EXPECT_EQ(charts[0].series[0].places.back(), 5000);
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

// Who cannot see a chart hears what it shows.
TEST(Page, ChartsHaveLabels) {
  const std::string html = report::find_renderer("html")->render(page(busy_and_idle()), {});
  EXPECT_TRUE(has(html, "aria-label=\"compute, idle of GPU 0\""));
  EXPECT_TRUE(has(html, "aria-label=\"time of b &amp; &quot;c&quot;, a\""));
  EXPECT_FALSE(has(html, "aria-label=\"\""));
}

TEST(Page, IsOnePageThatNeedsNothingElse) {
  const std::string html = report::find_renderer("html")->render(page(busy_and_idle()), {});
  EXPECT_TRUE(has(html, "<svg"));
  EXPECT_TRUE(has(html, "b &amp; &quot;c&quot;"));
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "src="));
  for (size_t at = html.find("href="); at != html.npos; at = html.find("href=", at + 1)) {
    EXPECT_EQ(html.substr(at, 7), "href=\"#");  // a place of the page itself
  }
}

TEST(Page, SaysWhatIsMissing) {
  const auto report = page({});
  EXPECT_TRUE(section_of(report, "check").table.rows.empty());
  EXPECT_TRUE(has(section_of(report, "check").empty_text, "No device operations"));
  EXPECT_TRUE(section_of(report, "trace").facts.empty());
}

// The page has the dearest findings only, and says how many there are besides.
TEST(Page, SaysHowManyFindingsItLeavesOut) {
  trace::TraceBuilder rows = busy_and_idle();
  rows.add(OpRow{"ncclDevKernel_AllReduce_Sum_f32", 5100, 6100, 0, 1});
  rows.add(
      OpRow{"Memcpy HtoD (Pageable -> Device)", 6100, 6900, 0, 1, "CopyHostToDevice", 1 << 20});
  rows.add(OpRow{"", 6900, 7500, 0, 1, "FillBuffer", 64});
  rows.add(OpRow{"volta_sgemm_128x64_nn", 7500, 8000});
  rows.add(ApiRow{"hip", "hipDeviceSynchronize", 5000, 5090});
  rows.add(ApiRow{"hip", "hipMalloc", 3000, 3800});
  const trace::Trace trace = rows.build(0, page_needs());
  const size_t all = findings_of({&trace, 1}, 0).size();
  ASSERT_GT(all, 5u);
  const auto made = value_of(page_of(trace, 15, 0));
  const auto& section = section_of(made, "check");
  EXPECT_EQ(section.table.rows.size(), 5u);
  EXPECT_EQ(section.remarks.back().substr(0, 14), std::to_string(all - 5) + " more finding");
  EXPECT_EQ(section_of(page(busy_and_idle()), "check").remarks.size(),
            section_of(page(busy_and_idle()), "check").table.rows.size());
}

// Of a trace of the CPU alone: operators, ranges and samples, and nothing about GPUs.
TEST(Page, AnswersForTheCpu) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"user_annotation", "step", 0, 100});
  rows.add(ApiRow{"cpu_op", "aten::mm", 10, 90});
  trace::Trace trace = rows.build(0, page_needs());
  for (int i = 0; i < 10; ++i) {
    add_sample(trace, "dot_kernel", "", 0, 1'000'000);
    add_sample(trace, "dot_kernel", "main.py", 7, 3'000'000);
  }
  const auto made = value_of(page_of(trace, 15, 5));
  std::vector<std::string> keys;
  for (const auto& section : made.sections) keys.push_back(section.key);
  EXPECT_EQ(keys,
            (Lines{"trace", "check", "functions", "lines", "markers", "operators", "memory"}));
  EXPECT_EQ(lines_of(made, "functions", {"name", "samples", "cpu_ns"}),
            (Lines{"dot_kernel|20|40000000"}));
  EXPECT_EQ(section_of(made, "functions").charts.size(), 1u);
  EXPECT_EQ(lines_of(made, "lines", {"name", "percentage"}), (Lines{"main.py(7): f|75"}));
  EXPECT_EQ(lines_of(made, "markers", {"name", "count", "total_ns"}), (Lines{"step|1|100"}));
  EXPECT_EQ(report::find_column(section_of(made, "operators").table, "self_gpu_ns"), -1);
  EXPECT_EQ(lines_of(made, "check", {"finding"}), (Lines{"cpu-function"}));
  EXPECT_TRUE(has(section_of(made, "check").remarks.front(), "most of it below main.py(7): f"));
}

}  // namespace
}  // namespace sonde::analysis
