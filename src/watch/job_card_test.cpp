// Job cards against figures computed by hand.
#include "watch/job_card.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sonde::watch {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using Figure = JobFigure;

JobSample sample(size_t gpu, Figure figure, int64_t from_s, int64_t to_s, double value) {
  return {gpu, figure, from_s * kSecond, to_s * kSecond, value};
}

const report::Value& cell(const report::Report& report, size_t row, const char* key) {
  const report::Table& table = report.sections.front().table;
  return table.rows.at(row).at(static_cast<size_t>(report::find_column(table, key)));
}

const report::Value& fact(const report::Report& report, std::string_view key) {
  const auto& facts = report.sections.front().facts;
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const report::Fact& each) { return each.key == key; });
  EXPECT_NE(found, facts.end()) << key;
  return found->value;
}

Job two_gpus() {
  Job job{.id = "77", .gpus = {{"n1", 0}, {"n1", 1}}, .samples = {}};
  job.samples = {
      sample(0, Figure::kBusy, 0, 10, 100),    sample(0, Figure::kBusy, 10, 40, 20),
      sample(0, Figure::kPower, 0, 10, 400),   sample(0, Figure::kPower, 10, 40, 100),
      sample(0, Figure::kMemory, 0, 40, 5000), sample(1, Figure::kBusy, 0, 40, 0),
      sample(1, Figure::kPower, 0, 40, 90),
  };
  return job;
}

TEST(JobCard, WeightsByTime) {
  const report::Report report = job_report(two_gpus());
  EXPECT_EQ(cell(report, 0, "busy_mean"), report::Value(40.0));  // (10 x 100 + 30 x 20) / 40
  EXPECT_EQ(cell(report, 0, "busy_max"), report::Value(100.0));
  EXPECT_EQ(cell(report, 0, "power_mean_w"), report::Value(175.0));  // 7,000 J in 40 s
  EXPECT_EQ(cell(report, 0, "energy_wh"), report::Value(7000.0 / 3600));
  EXPECT_EQ(cell(report, 0, "memory_max_bytes"), report::Value(int64_t{5000}));
  EXPECT_EQ(cell(report, 0, "temperature_max_c"), report::Value());
  EXPECT_EQ(fact(report, "energy_kwh"), report::Value((7000.0 + 3600) / 3600 / 1000));
  EXPECT_EQ(fact(report, "idle_gpus"), report::Value(int64_t{1}));
  EXPECT_EQ(fact(report, "duration_ns"), report::Value(40 * kSecond));
  EXPECT_EQ(fact(report, "busy_mean"), report::Value(20.0));
  EXPECT_EQ(report.sections.front().remarks,
            std::vector<std::string>{"Idle, less than 1 % busy on average: GPU 1 of n1."});
}

// Two ranks of a node each recorded the GPU: the second recording covers 5 s more.
TEST(JobCard, CountsAGpuOnceWhereRecordingsOverlap) {
  Job job = two_gpus();
  job.samples.push_back(sample(0, Figure::kPower, 2, 45, 200));
  std::reverse(job.samples.begin(), job.samples.end());
  const report::Report report = job_report(job);
  // From 0 to 10 the recording that began first counts, 400 W; the second one counts from 10 to 45.
  EXPECT_EQ(cell(report, 0, "energy_wh"), report::Value((10 * 400.0 + 35 * 200.0) / 3600));
  EXPECT_EQ(cell(report, 0, "told_ns"), report::Value(45 * kSecond));
}

TEST(JobCard, SaysWhatTheEnergyLeavesOut) {
  Job job = two_gpus();
  job.samples = {sample(0, Figure::kBusy, 0, 40, 50), sample(0, Figure::kPower, 0, 10, 360),
                 sample(1, Figure::kBusy, 0, 40, 50), sample(1, Figure::kBusy, 50, 50, 99)};
  const report::Report report = job_report(job);
  EXPECT_EQ(cell(report, 0, "energy_wh"), report::Value(1.0));
  EXPECT_EQ(cell(report, 1, "energy_wh"), report::Value());
  EXPECT_EQ(fact(report, "energy_kwh"), report::Value(0.001));
  const auto& remarks = report.sections.front().remarks;
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_EQ(remarks[0], "Energy excludes that of GPU 1 of n1: no power was reported.");
  EXPECT_EQ(remarks[1],
            "Power was reported only part of the time, and energy covers only that part: "
            "GPU 0 of n1 (25 %).");
}

TEST(JobCard, SaysHowToGetMetrics) {
  const report::Report report = job_report({});
  EXPECT_TRUE(report.sections.front().table.rows.empty());
  EXPECT_NE(report.sections.front().empty_text.find("--metrics"), std::string::npos);
}

}  // namespace
}  // namespace sonde::watch
