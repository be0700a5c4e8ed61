#include "analysis/collectives.h"

#include "analysis/analysis_test_support.h"
#include "base/test_support.h"
#include "trace/foreign.h"

namespace sonde::analysis {
namespace {

TEST(Collectives, NamesFactorsAndTypes) {
  EXPECT_EQ(collective_op("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"),
            "allreduce");
  EXPECT_EQ(collective_op("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"), "sendrecv");
  EXPECT_EQ(collective_op("_reduce_scatter_base"), "reducescatter");
  EXPECT_EQ(collective_op("allgather_into_tensor_coalesced"), "allgather");
  EXPECT_EQ(collective_op("all_to_allv"), "alltoall");
  EXPECT_EQ(collective_op("gemm"), "");
  EXPECT_DOUBLE_EQ(*bus_factor("allreduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(*bus_factor("allgather", 4), 0.75);
  EXPECT_DOUBLE_EQ(*bus_factor("broadcast", 4), 1);
  EXPECT_FALSE(bus_factor("barrier", 4).has_value());
  EXPECT_EQ(bytes_of_type("BFloat16"), 2);
  EXPECT_EQ(bytes_of_type("Quaternion"), 0);
}

// A rank of which each collective is one kernel; times are those of the rank's own clock.
struct Rank {
  struct Times {
    int64_t start_ns, end_ns;
  };
  std::vector<Times> times;
  int64_t elements = 1000;
  bool numbered = false;
  trace::Trace build() const {
    trace::TraceBuilder rows;
    int64_t number = 7;
    for (const Times& time : times) {
      const std::string args = fmt::format(
          R"({{"Collective name": "allreduce", "In msg nelems": {}, "dtype": "Float",
              "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Group size": 2{}}})",
          elements, numbered ? fmt::format(", \"Seq\": {}", number++) : "");
      const int64_t t = time.start_ns - 50;
      rows.add(ApiRow{"cpu_op", "record_param_comms", t, t + 40, 1, 1, "", args});
      const int launch = rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", t + 5, t + 10});
      rows.add(OpRow{"ncclDevKernel_Generic", time.start_ns, time.end_ns, launch});
    }
    return rows.build(3, collectives_needs());
  }
};

TEST(Collectives, bandwidth_si_units) {
  const std::vector<trace::Trace> traces = {Rank{{{100, 1100}, {2000, 4000}}}.build()};
  const report::Report report = collectives_report(traces);
  // 4000 bytes in 1000 ns and in 2000 ns: 8000 / 3000 bytes a nanosecond, which is GB/s.
  EXPECT_EQ(lines_of(section_of(report, "collectives").table,
                     {"group", "op", "message_bytes", "ranks", "count", "total_ns", "latency_ns",
                      "algorithm_gb_per_s", "bus_gb_per_s", "skew_ns"}),
            (Lines{"0 [0, 1]|allreduce|4000|2|2|3000|1500|2.667|2.667|-"}));
  EXPECT_EQ(report.notes, (Lines{"one rank only: latency includes the wait for the others, and "
                                 "skew is not known"}));
}

// Rank 1 has a clock that is 1000000 ahead, and comes 600, 0 and 300 later.
TEST(Collectives, SkewStragglerAndClocks) {
  const std::vector<trace::Trace> traces = {
      Rank{{{1000, 2000}, {3000, 3400}, {5000, 5900}}}.build(),
      Rank{{{1001600, 1002000}, {1003000, 1003400}, {1005300, 1005900}}}.build()};
  const report::Report report = collectives_report(traces);
  EXPECT_EQ(lines_of(section_of(report, "collectives").table,
                     {"count", "total_ns", "latency_ns", "skew_ns", "max_skew_ns"}),
            (Lines{"3|1400|400|300|600"}));
  EXPECT_EQ(lines_of(section_of(report, "ranks").table,
                     {"rank", "collectives", "total_ns", "waited_ns", "clock_ahead_ns"}),
            (Lines{"0|3|2300|900|0", "1|3|1400|0|1000000"}));
  EXPECT_EQ(
      lines_of(section_of(report, "classes").table, {"class", "collectives", "time_ns", "skew_ns"}),
      (Lines{"transfer|2|1300|300", "mixed|1|1000|600"}));
  EXPECT_EQ(report.notes, (Lines{"ends of collectives lie 0 ns apart on the common clock"}));
}

TEST(Collectives, AreNotMatchedWhereTheyDiffer) {
  const std::vector<trace::Trace> traces = {Rank{{{100, 200}, {300, 400}}}.build(),
                                            Rank{{{100, 200}}}.build()};
  const report::Report report = collectives_report(traces);
  EXPECT_TRUE(section_of(report, "collectives").table.rows.empty());
  EXPECT_EQ(report.notes.at(0),
            "collectives of group '0 [0, 1]' are not matched: rank 0 has 2 and rank 1 has 1, which "
            "differ from number 2 on, and the files do not number them");
  // With numbers what both have is.
  const std::vector<trace::Trace> numbered = {Rank{{{100, 200}, {300, 400}}, 8, true}.build(),
                                              Rank{{{100, 200}}, 8, true}.build()};
  EXPECT_EQ(lines_of(section_of(collectives_report(numbered), "collectives").table, {"count"}),
            (Lines{"1"}));
}

TEST(Collectives, straggler_matches_all_comm_kernels) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"ncclDevKernel_AllReduce_Sum", 0, 10});
  rows.add(OpRow{"ncclKernel_AllGather_RING", 20, 30});
  rows.add(OpRow{"rcclGenericKernel_Broadcast", 40, 50});
  rows.add(OpRow{"cross_device_reduce_1stage", 60, 70});
  rows.add(OpRow{"gemm", 80, 90});
  const std::vector<trace::Trace> traces = {rows.build(0, collectives_needs())};
  EXPECT_EQ(find_collectives(traces).list.size(), 4u);
}

// As Sonde records them: the call of RCCL says how many bytes.
TEST(Collectives, OfCallsOfRccl) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"", "ncclAllReduce", 0, 50, 1, 1, "rccl",
                  "sendbuff = 0x100 | count = 1000 | comm = 0xc0 | bytes = 4000"});
  const int launch = rows.add(ApiRow{"", "hipLaunchKernel", 10, 20, 1, 1, "hip"});
  rows.add(OpRow{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 100, 1100, launch});
  const std::vector<trace::Trace> traces = {rows.build(0, collectives_needs())};
  const Collectives all = find_collectives(traces);
  EXPECT_EQ(all.list.at(0).bytes, 4000);
  EXPECT_EQ(all.list.at(0).op, "allreduce");
}

TEST(Collectives, SaysWhatIsMissing) {
  const std::vector<trace::Trace> traces = {trace::TraceBuilder().build(0, collectives_needs())};
  const report::Report report = collectives_report(traces);
  EXPECT_EQ(report.sections.size(), 1u);
  EXPECT_NE(report.sections[0].empty_text, "");
}

std::vector<trace::Trace> real_traces(const std::vector<std::string>& names) {
  std::vector<trace::Trace> traces;
  for (const std::string& name : names) {
    const std::string path = test::real_file("kineto/" + name + ".json.gz");
    if (path.empty()) return {};
    auto trace = trace::load_file(path, "kineto", collectives_needs(), {});
    EXPECT_TRUE(trace.ok());
    if (trace.ok()) traces.push_back(std::move(*trace));
  }
  return traces;
}

// The file's JSON has 15 allreduce and 6 broadcast kernels; the first broadcast is of 53120 floats
// and takes 30.975 us: 212480 / 30975 = 6.860 GB/s.
TEST(Collectives, OneRankOfNccl) {
  const auto traces = real_traces({"nccl_data"});
  if (traces.empty()) GTEST_SKIP() << "no nccl_data";
  const Collectives all = find_collectives(traces);
  ASSERT_EQ(all.list.size(), 21u);
  EXPECT_EQ(all.list[0].group, "0 [0, 1]");
  EXPECT_EQ(all.list[0].op, "broadcast");
  EXPECT_EQ(all.list[0].bytes, 53120 * 4);
  EXPECT_EQ(all.list[0].duration_ns(), 30975);
  EXPECT_EQ(std::count_if(all.list.begin(), all.list.end(),
                          [](const Collective& one) { return one.op == "allreduce"; }),
            15);
  EXPECT_TRUE(std::all_of(all.list.begin(), all.list.end(),
                          [](const Collective& one) { return one.bytes > 0; }));
}

// Two ranks of a gloo job, without numbers: the second has one allreduce more, so that nobody knows
// which belong together.
TEST(Collectives, TwoRanksOfGlooThatDiffer) {
  const auto traces = real_traces({"legacy_torch113_ddp_rank0", "legacy_torch113_ddp_rank1"});
  if (traces.empty()) GTEST_SKIP() << "no legacy_torch113_ddp";
  const report::Report report = collectives_report(traces);
  EXPECT_EQ(lines_of(section_of(report, "ranks").table, {"rank", "collectives", "waited_ns"}),
            (Lines{"0|10|-", "1|11|-"}));
  EXPECT_EQ(report.notes, (Lines{"collectives of group '' are not matched: rank 0 has 10 and rank "
                                 "1 has 11, which differ from number 11 on, and the files do not "
                                 "number them"}));
}

}  // namespace
}  // namespace sonde::analysis
