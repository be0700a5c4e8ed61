#include "analysis/collectives/collectives.h"

#include <algorithm>
#include <map>

#include "analysis/analysis_test_support.h"
#include "base/test_support.h"
#include "trace/other_tools.h"

namespace sonde::analysis {
namespace {

TEST(Collectives, NamesFactorsAndTypes) {
  const std::pair<const char*, const char*> kOps[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", "allreduce"},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "sendrecv"},
      {"_reduce_scatter_base", "reducescatter"},
      {"allgather_into_tensor_coalesced", "allgather"},
      {"all_to_allv", "alltoall"},
      {"void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*)", "allreduce"},
      {"gemm", ""}};
  for (const auto& [name, op] : kOps) EXPECT_EQ(collective_op(name), op) << name;
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
      rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", t + 5, t + 10},
               OpRow{"ncclDevKernel_Generic", time.start_ns, time.end_ns});
    }
    return rows.build(3, collectives_needs());
  }
};

TEST(Collectives, bandwidth_si_units) {
  const std::vector<trace::Trace> traces = {Rank{{{100, 1100}, {2000, 4000}}}.build()};
  const report::Report report = collectives_report(traces);
  // 4000 bytes in 1000 ns and in 2000 ns: 8000 / 3000 bytes a nanosecond, which is GB/s.
  EXPECT_EQ(lines_of(report, "collectives",
                     {"group", "op", "message_bytes", "ranks", "count", "total_ns", "latency_ns",
                      "algorithm_gb_per_s", "bus_gb_per_s", "skew_ns"}),
            (Lines{"0 [0, 1]|allreduce|4000|2|2|3000|1500|2.667|2.667|-"}));
  EXPECT_EQ(report.notes, (Lines{"one rank only: latency includes the wait for the others, and "
                                 "skew is not known"}));
}

constexpr int64_t kUs = 1000;

// A rank whose clock is ahead, by the times of its collectives in us.
Rank rank_at(int64_t ahead_us, std::vector<Rank::Times> times) {
  for (Rank::Times& time : times) {
    time.start_ns = (time.start_ns + ahead_us) * kUs;
    time.end_ns = (time.end_ns + ahead_us) * kUs;
  }
  return Rank{std::move(times)};
}

// Rank 1 has a clock that is 1 s ahead, and comes 600, 0 and 300 us later.
TEST(Collectives, SkewStragglerAndClocks) {
  const std::vector<trace::Trace> traces = {
      rank_at(0, {{1000, 2000}, {3000, 3400}, {5000, 5900}}).build(),
      rank_at(1'000'000, {{1600, 2000}, {3000, 3400}, {5300, 5900}}).build()};
  const report::Report report = collectives_report(traces);
  EXPECT_EQ(lines_of(report, "collectives",
                     {"count", "total_ns", "latency_ns", "skew_ns", "max_skew_ns"}),
            (Lines{"3|1400000|400000|300000|600000"}));
  EXPECT_EQ(lines_of(report, "ranks",
                     {"rank", "collectives", "total_ns", "waited_ns", "last", "late_ns",
                      "caused_ns", "clock_ahead_ns"}),
            (Lines{"0|3|2300000|900000|0|0|0|0", "1|3|1400000|0|2|900000|900000|1000000000"}));
  EXPECT_EQ(lines_of(report, "classes", {"class", "collectives", "time_ns", "skew_ns"}),
            (Lines{"transfer|2|1300000|300000", "mixed|1|1000000|600000"}));
  EXPECT_EQ(lines_of(report, "time", {"part", "time_ns"}),
            (Lines{"waiting|900000", "transfer|2800000"}));
  EXPECT_EQ(report.notes, (Lines{"ends of collectives lie 0 ns apart on the common clock"}));
}

// One side goes on before the other begins; the times between collectives tell where it belongs.
TEST(Collectives, AlignByTheLongestCommonRun) {
  const std::vector<Rank::Times> all = {{0, 100},     {1000, 1100}, {2300, 2400},
                                        {3100, 3200}, {4700, 4800}, {5200, 5300}};
  const std::vector<trace::Trace> traces = {rank_at(0, {all.begin(), all.end() - 1}).build(),
                                            rank_at(70'000, {all.begin() + 2, all.end()}).build()};
  const Collectives found = find_collectives(traces);
  const Matched matched = match_collectives(found);
  ASSERT_EQ(matched.instances.size(), 3u);
  EXPECT_EQ(matched.offset_ns, (std::vector<int64_t>{0, 70'000 * kUs}));
  for (const Instance& instance : matched.instances) EXPECT_EQ(instance.skew_ns, 0);
  EXPECT_EQ(
      matched.left_out,
      (Lines{"collectives of group '0 [0, 1]' that not all ranks have are left out: 2 of rank "
             "0, 1 of rank 1"}));
}

TEST(Collectives, AreNotMatchedWhereTheyDiffer) {
  const std::vector<trace::Trace> traces = {Rank{{{100, 200}, {300, 400}}}.build(),
                                            Rank{{{100, 200}}}.build()};
  const report::Report report = collectives_report(traces);
  EXPECT_TRUE(section_of(report, "collectives").table.rows.empty());
  EXPECT_EQ(
      report.notes.at(0),
      "collectives of group '0 [0, 1]' are not matched: rank 0 has 2 and rank 1 has 1, less than "
      "half of which are the same in a row, and the files do not number them");
  // With numbers what both have is.
  const std::vector<trace::Trace> numbered = {Rank{{{100, 200}, {300, 400}}, 8, true}.build(),
                                              Rank{{{100, 200}}, 8, true}.build()};
  EXPECT_EQ(lines_of(collectives_report(numbered), "collectives", {"count"}), (Lines{"1"}));
}

// Rows of ranks with a group of their own for each pair.
class Job {
 public:
  // Of `members`, each beginning at its time (us) and all ending at `end`.
  void collective(const std::string& group, const std::vector<int64_t>& members,
                  const std::vector<int64_t>& starts, int64_t end, int64_t bytes = 4'000'000) {
    ++numbers_[group];
    again(group, members, starts, end, bytes);
  }
  // Others of the same collective, which end at another time.
  void again(const std::string& group, const std::vector<int64_t>& members,
             const std::vector<int64_t>& starts, int64_t end, int64_t bytes = 4'000'000) {
    for (size_t i = 0; i < members.size(); ++i) {
      Collective one;
      one.member = static_cast<size_t>(members[i]);
      one.group = group;
      one.op = op;
      one.start_ns = starts[i] * kUs + ahead_ns[one.member];
      one.end_ns = end * kUs + ahead_ns[one.member];
      one.bytes = bytes;
      one.sequence = numbers_[group];
      list_.push_back(one);
    }
  }
  Collectives found() {
    Collectives all;
    for (size_t i = 0; i < ahead_ns.size(); ++i) {
      all.members.push_back({0, static_cast<int32_t>(i), static_cast<int64_t>(i)});
    }
    all.list = list_;
    std::stable_sort(all.list.begin(), all.list.end(),
                     [](const Collective& a, const Collective& b) {
                       return a.member != b.member ? a.member < b.member : a.start_ns < b.start_ns;
                     });
    return all;
  }
  std::vector<int64_t> ahead_ns;  // by member
  std::string op = "allreduce";

 private:
  std::map<std::string, int64_t> numbers_;
  std::vector<Collective> list_;
};

// Pairs {0, 1} and {2, 3} that share nothing: the clock of 3 is 10 s ahead, and no rank is late.
TEST(Collectives, ClocksOfRanksThatShareNothing) {
  Job job;
  job.ahead_ns = {0, 0, 0, 10'000'000 * kUs};
  for (int64_t i = 0; i < 15; ++i) {
    job.collective("a", {0, 1}, {1000 * i, 1000 * i}, 1000 * i + 100);
    job.collective("b", {2, 3}, {1000 * i + 7, 1000 * i + 7}, 1000 * i + 107);
  }
  const Collectives all = job.found();
  const Matched matched = match_collectives(all);
  EXPECT_EQ(matched.clock_of, (std::vector<size_t>{0, 0, 1, 1}));
  EXPECT_EQ(matched.offset_ns, (std::vector<int64_t>{0, 0, 0, 10'000'000 * kUs}));
  EXPECT_TRUE(stragglers(all, matched).empty());
  for (const Lateness& one : lateness(all, matched)) EXPECT_EQ(one.waited_ns, 0);
}

// Clocks are compared through others: 0 with 1, 1 with 2, 2 with 3.
TEST(Collectives, ClocksThroughOthers) {
  Job job;
  job.ahead_ns = {5 * kUs, 900 * kUs, -70'000 * kUs, 3 * kUs};
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t first = 0; first < 3; ++first) {
      job.collective(std::to_string(first), {first, first + 1}, {1000 * i, 1000 * i + 40},
                     1000 * i + 100);
    }
  }
  const Matched matched = match_collectives(job.found());
  EXPECT_EQ(matched.offset_ns, (std::vector<int64_t>{0, 895 * kUs, -70'005 * kUs, -2 * kUs}));
}

// A root that leaves early looks like one whose clock is behind: without other collectives no one
// can tell, and with them it is neither.
TEST(Collectives, BroadcastsSetNoClock) {
  for (const bool with_others : {false, true}) {
    Job job;
    job.ahead_ns = {0, 300 * kUs};
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t t = 20'000 * i;
      job.op = "broadcast";
      job.collective("b", {0}, {t}, t + 100);
      job.again("b", {1}, {t}, t + 500);
      job.op = "allreduce";
      if (with_others) job.collective("a", {0, 1}, {t + 1000, t + 1000}, t + 1100);
    }
    const Collectives all = job.found();
    const Matched matched = match_collectives(all);
    EXPECT_TRUE(stragglers(all, matched).empty());
    EXPECT_EQ(matched.clocks.size(), with_others ? 1u : 2u);
    EXPECT_EQ(matched.offset_ns, (std::vector<int64_t>{0, with_others ? 300 * kUs : 0}));
    for (const Instance& instance : matched.instances) {
      EXPECT_EQ(instance.is_compared, with_others);
      EXPECT_EQ(instance.skew_ns, 0);
      EXPECT_EQ(instance.last, kNobody);
    }
  }
}

// The last group joins the clocks of the first two, {0, 3} and {1, 4}, into one.
TEST(Collectives, AGroupJoinsClocks) {
  Job job;
  job.ahead_ns = {0, 7 * kUs, 0, 900 * kUs, 0};
  for (int64_t i = 0; i < 8; ++i) {
    job.collective("a", {0, 3}, {1000 * i, 1000 * i}, 1000 * i + 100);
    job.collective("b", {1, 4}, {1000 * i, 1000 * i}, 1000 * i + 100);
    job.collective("c", {2, 3, 4}, {1000 * i + 200, 1000 * i + 200, 1000 * i + 200},
                   1000 * i + 300);
  }
  const Matched matched = match_collectives(job.found());
  EXPECT_EQ(matched.clocks.size(), 1u);
  EXPECT_EQ(matched.offset_ns, (std::vector<int64_t>{0, 7 * kUs, 0, 900 * kUs, 0}));
}

// Rank 3 is late in its pair; rank 2, which waits for it there, then comes late to that of 0.
TEST(Collectives, WhoWaitedIsNotToBlame) {
  Job job;
  job.ahead_ns = {0, 0, 0, 0};
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t t = 20'000 * i;
    job.collective("tp", {2, 3}, {t, t + 5000}, t + 5100);
    job.collective("dp", {0, 2}, {t + 200, t + 5200}, t + 5300);
    job.collective("tp0", {0, 1}, {t, t}, t + 100);
  }
  const Collectives all = job.found();
  const auto late = stragglers(all, match_collectives(all));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].member, 3u);
  EXPECT_EQ(late[0].last_in_group, 10);
  EXPECT_EQ(late[0].late_ns, 10 * 5000 * kUs);
}

// Rank 1 is late for rank 2 by what a receive from rank 0 took, which nobody can tell from a wait;
// or by what it computed itself, before a receive that took little.
TEST(Collectives, WhoMayHaveWaitedIsNotNamed) {
  for (const int64_t receive_us : {3000, 100}) {
    Job job;
    job.ahead_ns = {0, 0, 0};
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t t = 20'000 * i;
      job.op = "send";
      job.collective("pp", {0}, {t + 3000 - 100}, t + 3000);
      job.op = "recv";
      job.collective("pp", {1}, {t + 3000 - receive_us}, t + 3000);
      job.op = "allreduce";
      job.collective("dp", {1, 2}, {t + 3500, t + 500}, t + 3600);
    }
    const Collectives all = job.found();
    const Matched matched = match_collectives(all);
    const CommunicationTime time = communication_time(all, matched);
    EXPECT_EQ(time.unknown_ns, 10 * (100 + receive_us) * kUs);
    EXPECT_EQ(time.waiting_ns, 10 * 3000 * kUs);
    EXPECT_EQ(time.transfer_ns, 10 * 2 * 100 * kUs);
    const bool is_proven = receive_us == 100;
    EXPECT_EQ(stragglers(all, matched).size(), is_proven ? 1u : 0u);
    EXPECT_EQ(unproven_stragglers(all, matched).size(), is_proven ? 0u : 1u);
    EXPECT_EQ(lateness(all, matched).at(1).maybe_waited_ns,
              10 * std::min<int64_t>(receive_us, 3000) * kUs);
  }
}

// One transfer in ten takes ten times as long, and no rank is late.
TEST(Collectives, ASlowLinkIsNoWaiting) {
  Job job;
  job.ahead_ns = {0, 0};
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t t = 20'000 * i;
    job.collective("dp", {0, 1}, {t, t}, t + (i == 4 ? 10'000 : 1000));
  }
  const Collectives all = job.found();
  const Matched matched = match_collectives(all);
  const Rates rates = bus_rates(all, matched);
  EXPECT_DOUBLE_EQ(rates.usual[0], 4.0);
  EXPECT_DOUBLE_EQ(rates.bus[4], 0.4);
  const CommunicationTime time = communication_time(all, matched);
  EXPECT_EQ(time.total_ns, 2 * 19'000 * kUs);
  EXPECT_EQ(time.waiting_ns, 0);
  EXPECT_EQ(time.slow_ns, 2 * 9000 * kUs);
  EXPECT_EQ(time.transfer_ns, 2 * 10'000 * kUs);
  EXPECT_STREQ(time.verdict(), "transfer");
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
    traces.push_back(value_of(trace::load_file(path, "kineto", collectives_needs(), {})));
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

// Two ranks of a gloo job, without numbers: the second has one allreduce more.
TEST(Collectives, TwoRanksOfGlooThatDiffer) {
  const auto traces = real_traces({"legacy_torch113_ddp_rank0", "legacy_torch113_ddp_rank1"});
  if (traces.empty()) GTEST_SKIP() << "no legacy_torch113_ddp";
  const report::Report report = collectives_report(traces);
  EXPECT_EQ(lines_of(report, "ranks", {"rank", "collectives"}), (Lines{"0|10", "1|11"}));
  EXPECT_EQ(report.notes.at(0),
            "collectives of group '' that not all ranks have are left out: 1 of rank 1");
}

}  // namespace
}  // namespace sonde::analysis
