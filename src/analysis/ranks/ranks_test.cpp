#include "analysis/ranks/ranks.h"

#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

trace::TraceBuilder rank(int64_t number, int64_t compute_ns) {
  trace::TraceBuilder rows;
  rows.set_rank(10 + number, number);
  rows.add(ApiRow{"", "hipLaunchKernel", 0, 10, 1, 10 + number, "hip"},
           OpRow{"gemm", 20, 20 + compute_ns},
           OpRow{"ncclDevKernel_AllReduce", 20 + compute_ns, 1020});
  return rows;
}

TEST(Ranks, SideBySideAndAcross) {
  const std::vector<trace::Trace> traces = {rank(1, 900).build(0, ranks_needs()),
                                            rank(0, 500).build(0, ranks_needs()),
                                            rank(2, 600).build(0, ranks_needs())};
  const report::Report report = ranks_report(traces);
  EXPECT_EQ(lines_of(report, "ranks",
                     {"rank", "ops", "total_ns", "compute_ns", "exposed_communication_ns"}),
            (Lines{"0|2|1000|500|500", "1|2|1000|900|100", "2|2|1000|600|400"}));
  EXPECT_EQ(lines_of(report, "spread",
                     {"what", "min_ns", "median_ns", "max_ns", "spread_percentage", "min_rank",
                      "max_rank"}),
            (Lines{"Total|1000|1000|1000|0|0|0", "Compute|500|600|900|66.67|0|1",
                   "Exposed comm|100|400|500|100|1|0"}));
}

// The parts of every rank add up to its total, whatever the others do.
TEST(Ranks, PartsAddUp) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    trace::TraceBuilder rows;
    for (int i = 0; i < 40; ++i) {
      const auto pid = static_cast<int64_t>(random() % 3);
      const auto start = static_cast<int64_t>(random() % 500);
      const char* names[] = {"gemm", "ncclDevKernel", "__amd_rocclr_copyBuffer"};
      rows.add(ApiRow{"", "hipLaunchKernel", start, start + 2, 1, pid, "hip"},
               OpRow{names[random() % 3], start, start + static_cast<int64_t>(random() % 80), pid});
    }
    const std::vector<trace::Trace> traces = {rows.build(seed, ranks_needs())};
    const report::Report report = ranks_report(traces);
    const report::Table& table = section_of(report, "ranks").table;
    int64_t parts = 0;
    for (const char* key : {"compute_ns", "exposed_communication_ns", "exposed_copy_ns",
                            "exposed_memset_ns", "other_ns", "idle_ns"}) {
      parts += sum_of(table, key);
    }
    EXPECT_EQ(parts, sum_of(table, "total_ns")) << "seed " << seed;
    EXPECT_EQ(sum_of(table, "ops"), 40);
  }
}

TEST(Ranks, SaysWhatIsMissing) {
  const std::vector<trace::Trace> traces = {trace::TraceBuilder().build(0, ranks_needs())};
  EXPECT_EQ(section_of(ranks_report(traces), "ranks").empty_text, "No device operations.");
  const std::vector<trace::Trace> one = {rank(0, 500).build(0, ranks_needs())};
  EXPECT_EQ(ranks_report(one).notes,
            (Lines{"one rank only: give the traces of all ranks to compare them"}));
}

}  // namespace
}  // namespace sonde::analysis
