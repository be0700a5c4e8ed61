// Steps of traces that a test writes down: which are slow, why, and whether data is the limit.
#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Plan {
  int64_t load_ms = 10, wait_ms = 0, gpu_ms = 5;
};

// Steps one after another: a data loader, a launch, and perhaps a wait for what was launched.
trace::TraceBuilder steps_of(const std::vector<Plan>& plans, bool prefetches = false) {
  trace::TraceBuilder rows;
  int64_t at = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    const int64_t launch = at + plan.load_ms * kMs;
    const int64_t end = launch + kMs + plan.wait_ms * kMs;
    rows.add({"user_annotation", "ProfilerStep#" + std::to_string(i), at, end});
    rows.add({"user_annotation", "DataLoader: next", at, launch});
    const int api =
        rows.add(ApiRow{"", "hipLaunchKernel", launch, launch + kMs / 10, 1, 1, "hip"},
                 OpRow{"gemm", launch + kMs / 10, launch + kMs / 10 + plan.gpu_ms * kMs});
    if (plan.wait_ms != 0) {
      rows.add({"", "hipDeviceSynchronize", launch + kMs, end, 1, 1, "hip"});
    }
    // Work of before that hides the loading.
    OpRow before{"gemm", at, launch};
    before.api = api;
    if (prefetches) rows.add(before);
    at = end;
  }
  return rows;
}

std::string fact(const report::Report& report, const char* key) {
  return fact_of(report.sections.front(), key);
}

TEST(Steps, slow_ones_are_named_with_what_was_different) {
  std::vector<Plan> plans(12);
  plans[4].load_ms = 60;
  plans[8].wait_ms = 40;
  plans[8].gpu_ms = 40;
  const report::Report report = ask("steps", steps_of(plans));
  EXPECT_EQ(fact(report, "median_ns"), "11000000");
  EXPECT_EQ(fact(report, "slow"), "2");
  EXPECT_EQ(
      lines_of(report, "slow", {"step", "more_ns", "difference"}),
      (Lines{"ProfilerStep#4|50000000|DataLoader: next +50.0 ms",
             "ProfilerStep#8|40000000|waiting for the GPU +40.0 ms; on the GPU gemm +35.0 ms"}));
}

// Accumulated gradients, for example.
TEST(Steps, slow_ones_that_come_regularly_are_said_to) {
  const auto remarks = [](const std::vector<size_t>& slow, size_t steps = 12) {
    std::vector<Plan> plans(steps);
    for (const size_t step : slow) plans[step].load_ms = 60;
    return section_of(ask("steps", steps_of(plans)), "slow").remarks;
  };
  ASSERT_EQ(remarks({3, 7, 11}).size(), 1u);
  EXPECT_EQ(remarks({3, 7, 11})[0].substr(0, 34), "The slow steps are 4 steps apart. ");
  EXPECT_EQ(remarks({0, 3, 7, 11}).size(), 1u);  // the first one compiles
  EXPECT_EQ(remarks({0, 4, 8}).size(), 1u);
  EXPECT_EQ(remarks({3, 7}).size(), 0u);
  EXPECT_EQ(remarks({3, 7, 10}).size(), 0u);
  EXPECT_EQ(remarks({1, 2, 3}).size(), 0u);  // none of the others
  EXPECT_EQ(remarks({0, 3, 6}, 9).size(), 1u);
  EXPECT_EQ(remarks({0, 3, 6}, 10).size(), 0u);  // nor the 9th
  EXPECT_EQ(remarks({5, 8, 11}).size(), 0u);     // nor the 2nd
}

TEST(Steps, equal_and_few_steps_are_not_slow) {
  EXPECT_EQ(fact(ask("steps", steps_of(std::vector<Plan>(12))), "slow"), "0");
  EXPECT_EQ(fact(ask("steps", steps_of({{10}, {10}, {90}, {10}})), "slow"), "0");
}

// A loader is the limit where the GPU waits for it, and not where it works meanwhile.
TEST(Steps, the_data_loader_is_the_limit_only_where_the_gpu_waits) {
  const std::vector<Plan> plans(6);
  EXPECT_EQ(fact(ask("steps", steps_of(plans)), "data_loader_bound").substr(0, 4), "yes:");
  EXPECT_EQ(fact(ask("steps", steps_of(plans, true)), "data_loader_bound").substr(0, 3), "no:");
}

TEST(Steps, the_rate_is_of_the_median_step) {
  const report::Report report = ask("steps", steps_of(std::vector<Plan>(6)), {{"batch", "22"}});
  EXPECT_EQ(fact(report, "per_second"), "2,000 (22 per step, --batch)");
  EXPECT_EQ(fact(ask("steps", steps_of(std::vector<Plan>(6))), "per_second"), "");
}

// 2*100*200*300 FLOP at 19.5 TFLOP/s take 615.4 ns of a step of 10 us, on each of two GPUs.
TEST(Steps, utilisation_is_of_the_peaks_of_all_gpus) {
  const auto percentage = [](const char* device, bool on_two) {
    trace::TraceBuilder rows;
    for (int64_t at = 0; at < 30'000; at += 10'000) {
      rows.add({"user_annotation", "ProfilerStep#" + std::to_string(at), at, at + 10'000});
      for (int64_t gpu = 0; gpu < (on_two ? 2 : 1); ++gpu) {
        const int64_t begin = at + 100 + gpu * 1000;
        rows.add({"cpu_op",
                  "aten::mm",
                  begin,
                  begin + 50,
                  1,
                  1,
                  {},
                  R"({"Input Dims": [[100, 200], [200, 300]], "Input type": ["float", "float"]})"});
        rows.add({"cuda_runtime", "cudaLaunchKernel", begin + 10, begin + 20},
                 OpRow{"k", begin + 100, begin + 1100, gpu});
      }
    }
    rows.set_device(0, device);
    rows.set_device(1, device);
    const report::Report report = ask("steps", rows);
    for (const report::Fact& fact : report.sections.front().facts) {
      if (fact.key == "mfu_percentage") return std::get<double>(fact.value);
    }
    return -1.0;
  };
  EXPECT_NEAR(percentage("NVIDIA A100-SXM4-40GB", false), 6.154, 0.001);
  EXPECT_NEAR(percentage("NVIDIA A100-SXM4-40GB", true), 6.154, 0.001);
  EXPECT_EQ(percentage("Some GPU", false), -1.0);
}

// 2*1000*2000*3000 FLOP at 19.5 TFLOP/s take 615.4 us, half of what the kernel takes; the host,
// which waits for nothing, needs 100 us for a step.
TEST(Steps, utilisation_where_the_host_runs_ahead_is_of_the_gpus_time) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t at = i * 100'000;
    rows.add({"user_annotation", "ProfilerStep#" + std::to_string(i), at, at + 100'000});
    rows.add({"cpu_op",
              "aten::mm",
              at + 100,
              at + 200,
              1,
              1,
              {},
              R"({"Input Dims": [[1000, 2000], [2000, 3000]], "Input type": ["float", "float"]})"});
    rows.add({"cuda_runtime", "cudaLaunchKernel", at + 110, at + 120},
             OpRow{"k", 1000 + i * 1'230'769, 1000 + (i + 1) * 1'230'769});
  }
  rows.set_device(0, "NVIDIA A100-SXM4-40GB");
  const report::Report report = ask("steps", rows);
  EXPECT_EQ(fact(report, "host_runs_ahead").substr(0, 4), "yes:");
  EXPECT_EQ(fact(report, "mfu_percentage"), "50");
}

TEST(Steps, a_trace_without_steps_says_so) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"gemm", 0, 5});
  const report::Report report = ask("steps", rows);
  EXPECT_TRUE(section_of(report, "steps").table.rows.empty());
  EXPECT_NE(section_of(report, "steps").empty_text, "");
}

}  // namespace
}  // namespace sonde::analysis
