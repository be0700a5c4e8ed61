#include "importers/sink/call_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sonde::importers {
namespace {

using Calls = std::vector<CallTable::Call>;

CallTable table_of(const Calls& calls) {
  CallTable table;
  for (const CallTable::Call& call : calls) table.add(call);
  return table;
}

std::vector<int64_t> launched(const Calls& calls, const std::vector<TrackedOp>& ops,
                              const std::vector<std::string>& tracks,
                              const std::vector<std::string>& processes) {
  const CallTable table = table_of(calls);
  std::vector<int64_t> ids;
  for (const auto* call : who_launched(table, ops, tracks, processes).calls) {
    ids.push_back(call == nullptr ? -1 : call->id);
  }
  return ids;
}

TEST(CallTable, KeepsProcessesApart) {
  const CallTable table = table_of({{100, 1, 0, 5, 10}, {200, 1, 0, 5, 20}});
  EXPECT_EQ(table.find(100, 1, 9), 10);
  EXPECT_EQ(table.find(200, 1, 9), 20);
  EXPECT_EQ(table.find(300, 1, 9), 0);
  EXPECT_EQ(table.find(100, 2, 9), 0);
}

// hipLaunchKernel within hipExtModuleLaunchKernel; and a number that begins again in a second run.
TEST(CallTable, OfOneNumberTheOuterAndTheLast) {
  const CallTable table = table_of({{1, 7, 0, 10, 1}, {1, 7, 2, 8, 2}, {1, 7, 100, 110, 3}});
  EXPECT_EQ(table.find(1, 7, 20), 1);
  EXPECT_EQ(table.find(1, 7, 120), 3);
  EXPECT_EQ(table.find(1, 7, -5), 1);  // a clock that drifts: rather it than none
}

// Against a search of all calls.
TEST(CallTable, ManyNumbersOfManyProcesses) {
  std::mt19937 random(7);
  const auto below = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  Calls calls;
  for (int64_t i = 0; i < 5000; ++i) {
    calls.push_back({below(3) - 1, below(1000) << 32, i * 10, i * 10 + 5, i + 1});
  }
  const CallTable table = table_of(calls);
  for (int i = 0; i < 2000; ++i) {
    const int64_t process = below(4) - 1, correlation = below(1100) << 32, start_ns = below(60'000);
    int64_t expected = 0;
    for (const CallTable::Call& call : calls) {
      if (call.process != process || call.correlation != correlation) continue;
      if (expected == 0 || call.start_ns <= start_ns) expected = call.id;
    }
    ASSERT_EQ(table.find(process, correlation, start_ns), expected);
  }
}

TEST(CallTable, WordsOfTracksAndProcesses) {
  const Calls calls = {{100, 1, 0, 5, 10}, {200, 1, 5, 10, 20}};
  EXPECT_EQ(launched(calls, {{0, 1, 20}, {1, 1, 25}}, {"GPU of 200", "GPU of 100"}, {"100", "200"}),
            (std::vector<int64_t>{20, 10}));
  EXPECT_EQ(launched(calls, {{0, 1, 20}, {1, 1, 25}}, {"[TP01] 0", "[TP00] 0"},
                     {"[TP00] 4242 100", "[TP01] 4243 200"}),
            (std::vector<int64_t>{20, 10}));
}

// Nothing begins before it is launched.
TEST(CallTable, TimesTell) {
  const Calls calls = {{100, 1, 0, 5, 10}, {200, 1, 1000, 1005, 20}};
  EXPECT_EQ(launched(calls, {{0, 1, 1010}, {1, 1, 10}}, {"", ""}, {"", ""}),
            (std::vector<int64_t>{20, 10}));
}

// Two ranks on one track: the numbers come twice.
TEST(CallTable, OneTrackOfTwoProcesses) {
  const Calls calls = {
      {100, 1, 0, 5, 10}, {200, 1, 3, 8, 20}, {100, 2, 50, 55, 11}, {200, 2, 90, 95, 21}};
  EXPECT_EQ(launched(calls, {{0, 1, 20}, {0, 1, 25}, {0, 2, 60}, {0, 2, 99}}, {"GPU 0"}, {"", ""}),
            (std::vector<int64_t>{10, 20, 11, 21}));
}

// Two processes on one GPU whose numbers go on from each other's.
TEST(CallTable, OneTrackOfTwoProcessesWithNumbersOfTheirOwn) {
  const Calls calls = {
      {100, 1, 0, 5, 10}, {200, 101, 3, 8, 20}, {100, 2, 50, 55, 11}, {200, 102, 90, 95, 21}};
  EXPECT_EQ(
      launched(calls, {{0, 1, 20}, {0, 101, 25}, {0, 2, 60}, {0, 102, 99}}, {"GPU 0"}, {"", ""}),
      (std::vector<int64_t>{10, 20, 11, 21}));
  // A third one with little work, and one whose GPU is not in the file: its numbers are others'.
  Calls more = calls;
  more.push_back({300, 201, 100, 105, 30});
  more.push_back({400, 1, 200, 205, 40});
  more.push_back({400, 101, 210, 215, 41});
  EXPECT_EQ(launched(more, {{0, 1, 20}, {0, 101, 25}, {0, 2, 60}, {0, 102, 99}, {0, 201, 110}},
                     {"GPU 0"}, {"", "", "", ""}),
            (std::vector<int64_t>{10, 20, 11, 21, 30}));
}

// Operations from before the recording, whose numbers another process has for later calls.
TEST(CallTable, CallsAfterAnOperationDidNotLaunchIt) {
  const Calls calls = {{100, 11, 100, 105, 10},
                       {100, 12, 110, 115, 11},
                       {200, 1, 300, 305, 20},
                       {200, 2, 310, 315, 21}};
  EXPECT_EQ(
      launched(calls, {{0, 1, 20}, {0, 2, 60}, {0, 11, 120}, {0, 12, 130}}, {"GPU 0"}, {"", ""}),
      (std::vector<int64_t>{-1, -1, 10, 11}));
}

// A number that only the other process has: launched before the recording began.
TEST(CallTable, NoCallIsBetterThanAnothers) {
  const Calls calls = {{100, 1, 0, 5, 10},
                       {100, 2, 10, 15, 11},
                       {200, 8, 0, 5, 20},
                       {200, 9, 10, 15, 21},
                       {200, 2, 20, 25, 22}};
  EXPECT_EQ(launched(calls, {{0, 1, 7}, {0, 2, 17}, {0, 9, 30}, {1, 8, 9}, {1, 2, 29}}, {"", ""},
                     {"", ""}),
            (std::vector<int64_t>{10, 11, -1, 20, 22}));
}

// Ranks in lockstep use the same numbers within microseconds of each other; each has its own GPUs.
TEST(CallTable, RandomRanksInLockstep) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    const int64_t ranks = 2 + below(4), gpus = 1 + below(3), count = 200;
    Calls calls;
    std::vector<TrackedOp> ops;
    std::vector<int64_t> truth;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t start = i * 1000 + below(300), id = rank * count + i;
        calls.push_back({rank + 100, i + 1, start, start + 5, id});
        const auto track = static_cast<uint32_t>(rank * gpus + below(gpus));
        ops.push_back({track, i + 1, start + 6 + below(100)});
        truth.push_back(id);
      }
    }
    // The file lists tracks in any order.
    std::vector<uint32_t> place(static_cast<size_t>(ranks * gpus));
    for (size_t i = 0; i < place.size(); ++i) place[i] = static_cast<uint32_t>(i);
    std::shuffle(place.begin(), place.end(), random);
    for (TrackedOp& op : ops) op.track = place[op.track];
    EXPECT_EQ(launched(calls, ops, std::vector<std::string>(place.size()),
                       std::vector<std::string>(static_cast<size_t>(ranks))),
              truth)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace sonde::importers
