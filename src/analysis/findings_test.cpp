#include "analysis/findings.h"

#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

Lines found(const trace::TraceBuilder& rows, double least = 5) {
  Lines lines;
  for (const Finding& finding : findings_of(rows.build(), least)) {
    lines.push_back(fmt::format("{} {} of {}", finding.id, finding.cost_ns, finding.wall_ns));
  }
  return lines;
}

TEST(Findings, NoneWithoutWorkOfADevice) {
  EXPECT_TRUE(found({}).empty());
  const auto report = findings_report(trace::TraceBuilder().build(), {});
  EXPECT_NE(report.sections.front().empty_text.find("No operations"), std::string::npos);
}

// 1000 ns of kernel, 3000 ns in which the next launch was not made, 1000 ns of another kernel.
TEST(Findings, LateLaunches) {
  trace::TraceBuilder rows;
  const int first = rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50});
  const int second = rows.add(ApiRow{"hip", "hipLaunchKernel", 3900, 3950});
  rows.add(OpRow{"a", 100, 1100, first});
  rows.add(OpRow{"b", 4100, 5100, second});
  EXPECT_EQ(found(rows), (Lines{"launch-bound 3000 of 5000", "one-kernel 1000 of 5000"}));
  EXPECT_EQ(found(rows, 50), (Lines{"launch-bound 3000 of 5000"}));
  const auto findings = findings_of(rows.build(), 50);
  EXPECT_NE(findings.front().evidence.find("1 gap, 3.00 us on average"), std::string::npos);
  EXPECT_NE(findings.front().evidence.find("ends with b"), std::string::npos);
}

TEST(Findings, CopiesThatNothingHides) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"a", 0, 1000});
  rows.add(OpRow{"", 500, 2500, trace::kNone, 0, 1, "CopyHostToDevice", 64});
  rows.add(OpRow{"b", 2500, 4000});
  EXPECT_EQ(found(rows), (Lines{"exposed-copies 1500 of 4000", "one-kernel 1500 of 4000"}));
}

// Each GPU counts with its own time, and both together are the whole.
TEST(Findings, SharesAreOfAllGpus) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"ncclDevKernel_AllReduce", 0, 1000, trace::kNone, 0});
  rows.add(OpRow{"a", 0, 3000, trace::kNone, 1});
  rows.add(OpRow{"b", 0, 3000, trace::kNone, 1, 1});
  const auto findings = findings_of(rows.build(), 5);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].id, "exposed-communication");
  EXPECT_DOUBLE_EQ(findings[1].wall_percentage(), 25);
}

TEST(Findings, EveryIdIsKnown) {
  const auto ids = finding_ids();
  EXPECT_EQ(ids.size(), 7u);
  for (const std::string& id : ids) {
    EXPECT_NE(std::string(kFindingsDefinition).find(id), std::string::npos) << id;
  }
}

}  // namespace
}  // namespace sonde::analysis
