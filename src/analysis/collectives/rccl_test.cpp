// Collectives of which the calls of RCCL tell the communicator, as in Sonde's recordings.
#include "analysis/analysis_test_support.h"
#include "analysis/collectives/collectives.h"

namespace sonde::analysis {
namespace {

constexpr int64_t kUs = 1000;

// As Sonde records them: the call of RCCL says how many bytes.
TEST(CollectivesOfRccl, HaveTheBytesOfTheCall) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"", "ncclAllReduce", 0, 50, 1, 1, "rccl",
                  "sendbuff = 0x100 | count = 1000 | comm = 0xc0 | bytes = 4000"});
  rows.add(ApiRow{"", "hipLaunchKernel", 10, 20, 1, 1, "hip"},
           OpRow{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 100, 1100});
  const std::vector<trace::Trace> traces = {rows.build(0, collectives_needs())};
  const Collectives all = find_collectives(traces);
  EXPECT_EQ(all.list.at(0).bytes, 4000);
  EXPECT_EQ(all.list.at(0).op, "allreduce");
}

// RCCL launches the kernels of a group at its end, all by the name of one that can do everything.
TEST(CollectivesOfRccl, InGroups) {
  const auto group = [](trace::TraceBuilder& rows, int64_t t, const std::vector<std::string>& calls,
                        int kernels, bool in_one = false) {
    rows.add(ApiRow{"", "ncclGroupStart", t, t + 1, 1, 1, "rccl"});
    for (size_t i = 0; i < calls.size(); ++i) {
      const int64_t at = t + 2 + 2 * static_cast<int64_t>(i);
      rows.add(ApiRow{
          "", calls[i], at, at + 1, 1, 1, "rccl",
          fmt::format("count = 1000 | comm = 0xc{} | bytes = {}", in_one ? 0 : i, 4000 + i)});
    }
    rows.add(ApiRow{"", "ncclGroupEnd", t + 20, t + 60, 1, 1, "rccl"});
    for (int i = 0; i < kernels; ++i) {
      // The last that was launched begins first.
      rows.add(ApiRow{"", "hipExtLaunchKernel", t + 22 + 4 * i, t + 24 + 4 * i, 1, 1, "hip"},
               OpRow{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", t + 50 - i, t + 90 - i});
    }
  };
  trace::TraceBuilder rows;
  group(rows, 0, {"ncclAllReduce", "ncclAllReduce"}, 2);
  group(rows, 100, {"ncclBroadcast", "ncclBroadcast"}, 1);  // one kernel does both
  group(rows, 200, {"ncclSend", "ncclAllGather"}, 1);       // and here who knows which
  group(rows, 300, {"ncclAllReduce", "ncclAllReduce"}, 1, true);
  const std::vector<trace::Trace> traces = {rows.build(0, collectives_needs())};
  Lines found;
  for (const Collective& one : find_collectives(traces).list) {
    found.push_back(fmt::format("{} {} {}", one.op, one.bytes, one.communicator));
  }
  EXPECT_EQ(found, (Lines{"allreduce 4001 0xc1", "allreduce 4000 0xc0", "broadcast -1 ",
                          "sendrecv -1 ", "allreduce -1 0xc0"}));
}

// A rank that calls RCCL as Sonde records it, in one communicator or several in turn: all-reduces
// of 1 MiB. What begins at `starts` ends at `ends`, in us.
trace::Trace rccl_rank(int64_t rank, const std::vector<int64_t>& starts,
                       const std::vector<int64_t>& ends,
                       const std::vector<std::string>& communicators) {
  trace::TraceBuilder rows;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t t = starts[i] * kUs;
    rows.add(ApiRow{"", "ncclAllReduce", t - 100, t - 50, 1, 1, "rccl",
                    fmt::format("count = 262144 | {} | bytes = 1048576",
                                communicators[i % communicators.size()])});
    rows.add(ApiRow{"", "hipLaunchKernel", t - 90, t - 80, 1, 1, "hip"},
             OpRow{"ncclDevKernel_Generic_1()", t, ends[i] * kUs});
  }
  rows.set_rank(1, rank);
  return rows.build(0, collectives_needs());
}

// Four ranks in pairs, rank 1 of which is always 1 ms late; the second pair comes with the first
// or 6 ms later. `communicators`: of each rank.
std::vector<trace::Trace> pairs_of_ranks(
    const std::vector<std::vector<std::string>>& communicators) {
  std::vector<trace::Trace> traces;
  for (int64_t rank = 0; rank < 4; ++rank) {
    std::vector<int64_t> starts, ends;
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t t = 1000 + 20'000 * i + (rank >= 2 && i % 2 == 1 ? 6000 : 0);
      starts.push_back(t + (rank == 1 ? 1000 : 0));
      ends.push_back(t + (rank < 2 ? 1100 : 100));
    }
    traces.push_back(rccl_rank(rank, starts, ends, communicators[static_cast<size_t>(rank)]));
  }
  return traces;
}

TEST(CollectivesOfRccl, AreMatchedByCommunicator) {
  const std::string first = "comm = 0xc0 | group = 0xa1 | ranks = 2";
  const std::string second = "comm = 0xc0 | group = 0xb2 | ranks = 2";
  const auto traces = pairs_of_ranks({{first}, {first}, {second}, {second}});
  const report::Report report = collectives_report(traces);
  // 20 times 1 MiB in 100 us, of which an all-reduce of two ranks moves as much.
  EXPECT_EQ(lines_of(report, "collectives", {"group", "ranks", "count", "bus_gb_per_s", "skew_ns"}),
            (Lines{"0xa1|2|20|10.49|1000000", "0xb2|2|20|10.49|0"}));
  EXPECT_TRUE(has(fact_of(section_of(report, "time"), "late"),
                  "rank 1 comes last in 20 of 20 collectives of its group '0xa1'"));
  EXPECT_EQ(lines_of(report, "ranks", {"rank", "last", "clock_ahead_ns", "clock_group"}),
            (Lines{"0|0|0|0", "1|20|0|0", "2|0|0|1", "3|0|0|1"}));
}

// Where the ranks of a communicator are not known, as in files of others.
TEST(CollectivesOfRccl, OfCommunicatorsThatNobodyKnowsAreNotMatched) {
  const auto why = [](const std::vector<std::vector<std::string>>& communicators,
                      size_t ranks = 4) {
    const auto traces = pairs_of_ranks(communicators);
    const Collectives all = find_collectives(std::span(traces).first(ranks));
    const Matched matched = match_collectives(all);
    EXPECT_EQ(matched.instances.empty(), !matched.refused.empty());
    return matched.refused.empty() ? "" : matched.refused.front();
  };
  const auto one = [](const char* more) {
    return std::vector<std::string>{std::string("comm = 0xc0") + more};
  };
  const auto of_all = [&](const std::vector<std::string>& each) {
    return std::vector<std::vector<std::string>>(4, each);
  };
  EXPECT_EQ(
      why(of_all({"comm = 0xc0", "comm = 0xd0"})),
      "collectives are not matched: rank 0 uses 2 communicators, and nothing tells which ranks "
      "share one");
  EXPECT_EQ(why(of_all(one(""))),
            "collectives are not matched: 4 ranks use communicators of unknown sizes, and nothing "
            "tells which ranks share one");
  EXPECT_EQ(
      why({one(" | ranks = 3"), one(" | ranks = 3"), one(" | ranks = 3"), one(" | ranks = 2")}, 3),
      "")
      << "three of three";
  EXPECT_EQ(
      why({one(" | ranks = 4"), one(" | ranks = 4"), one(" | ranks = 2"), one(" | ranks = 2")}),
      "collectives are not matched: the communicators of ranks have different sizes, and "
      "nothing tells which ranks share one");
  EXPECT_EQ(
      why(of_all(one(" | group = 0x0 | ranks = 2"))),
      "collectives of group '' are not matched: it has 2 ranks but 4 have the name, so several "
      "groups share it");
  EXPECT_EQ(why(of_all(one("")), 2), "") << "who else";
}

// A communicator within a node and one between nodes, ten times slower: neither is slow.
TEST(CollectivesOfRccl, RatesOfEachCommunicator) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i < 12; ++i) {
    const bool is_far = i % 3 == 2;
    const int64_t t = i * 100'000;
    rows.add(
        ApiRow{"", "ncclBroadcast", t, t + 50, 1, 1, "rccl",
               fmt::format("count = 1000 | comm = {} | bytes = 4000", is_far ? "0xb0" : "0xa0")});
    rows.add(ApiRow{"", "hipLaunchKernel", t + 10, t + 20, 1, 1, "hip"},
             OpRow{"ncclDevKernel_Generic_1()", t + 100, t + (is_far ? 10'100 : 1100)});
  }
  const std::vector<trace::Trace> traces = {rows.build(0, collectives_needs())};
  EXPECT_EQ(
      lines_of(collectives_report(traces), "collectives", {"group", "count", "latency_ns", "slow"}),
      (Lines{"0xb0|4|10000|0", "0xa0|8|1000|0"}));
}

}  // namespace
}  // namespace sonde::analysis
