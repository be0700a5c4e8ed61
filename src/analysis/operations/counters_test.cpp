#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

const std::vector<std::string> kColumns = {"name", "counter", "ops",    "sum",  "mean",
                                           "min",  "max",     "gpu_ns", "per_s"};

OpRow counted(const char* name, int64_t start_ns, int64_t end_ns,
              std::vector<std::pair<std::string, double>> counters) {
  OpRow op{name, start_ns, end_ns};
  op.counters = std::move(counters);
  return op;
}

TEST(Counters, AddUpByKernelWithRates) {
  trace::TraceBuilder rows;
  rows.add(counted("a", 0, 1000, {{"WAVES", 64}, {"READS", 10}}));
  rows.add(counted("b", 2000, 2500, {{"WAVES", 7}}));
  rows.add(counted("a", 3000, 6000, {{"WAVES", 36}}));
  rows.add(OpRow{"b", 7000, 9000});  // was not measured
  for (const uint32_t seed : {0u, 1u, 2u}) {
    const auto report = ask("counters", rows, {}, seed);
    // 100 in 4 us are 25 million a second.
    EXPECT_EQ(lines_of(report, "counters", kColumns),
              (Lines{"a|READS|1|10|10|10|10|1000|1e+07", "a|WAVES|2|100|50|36|64|4000|2.5e+07",
                     "b|WAVES|1|7|7|7|7|500|1.4e+07"}));
    EXPECT_EQ(lines_of(report, "totals", {"counter", "ops", "sum", "gpu_ns"}),
              (Lines{"READS|1|10|1000", "WAVES|3|107|4500"}));
  }
}

// Each die and each shader engine has a value of its own.
TEST(Counters, PartsOfAReadingAreOneValue) {
  trace::TraceBuilder rows;
  rows.add(counted("a", 0, 0, {{"WAVES", 1}, {"WAVES", 2}, {"WAVES", 4}}));
  EXPECT_EQ(lines_of(ask("counters", rows), "counters", kColumns),
            (Lines{"a|WAVES|1|7|7|7|7|0|-"}));
}

TEST(Counters, ByOperatorAndInAWindow) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 20, 25},
           counted("k", 100, 200, {{"WAVES", 5}}));
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 60, 65},
           counted("k", 300, 500, {{"WAVES", 6}}));
  rows.add(ApiRow{"cpu_op", "aten::mm", 10, 30});
  rows.add(ApiRow{"cpu_op", "aten::add", 50, 70});
  const std::vector<std::string> columns = {"operator", "counter", "sum", "gpu_ns"};
  EXPECT_EQ(lines_of(ask("counters", rows, {{"by", "operator"}}), "counters", columns),
            (Lines{"aten::add|WAVES|6|200", "aten::mm|WAVES|5|100"}));
  trace::Window window;
  window.select = {400, 1000};
  window.extent = window.select;
  // The kernel that reaches into the window counts whole, as its counter does.
  EXPECT_EQ(lines_of(ask("counters", rows, {{"by", "operator"}}, 0, window), "counters", columns),
            (Lines{"aten::add|WAVES|6|200"}));
}

}  // namespace
}  // namespace sonde::analysis
