#include "backends/itt/open_ranges.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace sonde::itt {
namespace {

struct OpenRangesTest : testing::Test {
  std::unique_ptr<OpenRanges> ranges = std::make_unique<OpenRanges>();
};

TEST_F(OpenRangesTest, GivesBackWhatWasPut) {
  EXPECT_EQ(take_range(*ranges, {1, 2, 3, 4}), 0u);
  EXPECT_TRUE(put_range(*ranges, {1, 2, 3, 4}, 77));
  EXPECT_EQ(take_range(*ranges, {2, 2, 3, 4}), 0u);
  EXPECT_EQ(take_range(*ranges, {1, 9, 3, 4}), 0u);
  EXPECT_EQ(take_range(*ranges, {1, 2, 9, 4}), 0u);
  EXPECT_EQ(take_range(*ranges, {1, 2, 3, 9}), 0u);
  EXPECT_EQ(take_range(*ranges, {1, 2, 3, 4}), 77u);
  EXPECT_EQ(take_range(*ranges, {1, 2, 3, 4}), 0u);
}

TEST_F(OpenRangesTest, KeepsSeveralOfOneKeyUpToItsRoom) {
  std::set<uint64_t> expected;
  for (uint64_t i = 1; i <= kWindow; ++i) {
    EXPECT_TRUE(put_range(*ranges, {5, 0, 0, 0}, i));
    expected.insert(i);
  }
  EXPECT_FALSE(put_range(*ranges, {5, 0, 0, 0}, 1000));
  std::set<uint64_t> taken;
  while (const uint64_t range = take_range(*ranges, {5, 0, 0, 0})) taken.insert(range);
  EXPECT_EQ(taken, expected);
}

TEST_F(OpenRangesTest, HoldsThousandsAtOnce) {
  for (uint64_t i = 1; i <= kSlots / 2; ++i) ASSERT_TRUE(put_range(*ranges, {1, i, 0, 0}, i));
  for (uint64_t i = 1; i <= kSlots / 2; ++i) ASSERT_EQ(take_range(*ranges, {1, i, 0, 0}), i);
}

TEST_F(OpenRangesTest, ThreadsEndEachOthersRanges) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 20000;
  std::atomic<uint64_t> ended = 0;
  std::vector<std::thread> threads;
  std::vector<std::atomic<uint64_t>> begun(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const int other = (t + 1) % kThreads;
      uint64_t next = 1;
      for (uint64_t i = 1; i <= kEach; ++i) {
        while (!put_range(*ranges, {uint64_t(t), i, 0, 0}, i)) std::this_thread::yield();
        begun[t].store(i);
        for (; next <= begun[other].load(); ++next) {
          ended += take_range(*ranges, {uint64_t(other), next, 0, 0}) == next;
        }
      }
      for (; next <= kEach; ++next) {
        while (begun[other].load() < next) std::this_thread::yield();
        ended += take_range(*ranges, {uint64_t(other), next, 0, 0}) == next;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended.load(), kThreads * kEach);
}

}  // namespace
}  // namespace sonde::itt
