#include "trace/intervals.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace sonde::trace {
namespace {

// The oracle: one bit per nanosecond.
constexpr size_t kSize = 64;
using Bits = std::bitset<kSize>;

Bits bits_of(const std::vector<Interval>& intervals) {
  Bits bits;
  for (const Interval& interval : intervals) {
    for (int64_t t = interval.start_ns; t < interval.end_ns; ++t) bits.set(static_cast<size_t>(t));
  }
  return bits;
}

void expect_is_set(const IntervalSet& set) {
  for (size_t i = 0; i < set.size(); ++i) {
    EXPECT_LT(set[i].start_ns, set[i].end_ns);
    if (i == 0) continue;
    EXPECT_LT(set[i - 1].end_ns, set[i].start_ns);
  }
}

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::vector<Interval> intervals(random() % 8);
  for (Interval& interval : intervals) {
    interval.start_ns = static_cast<int64_t>(random() % kSize);
    const auto room = static_cast<int64_t>(kSize) - interval.start_ns;
    interval.end_ns = interval.start_ns + std::min<int64_t>(room, random() % 16);  // 0: empty
  }
  return intervals;
}

TEST(Intervals, EqualTheBitmapOracle) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<Interval> a = random_intervals(random);
    std::vector<Interval> b = random_intervals(random);
    const Bits bits_a = bits_of(a);
    const Bits bits_b = bits_of(b);
    normalise(a);
    normalise(b);
    const auto expect = [&](const IntervalSet& set, const Bits& bits) {
      expect_is_set(set);
      ASSERT_EQ(bits_of(set), bits) << "round " << round;
      ASSERT_EQ(length_ns(set), static_cast<int64_t>(bits.count()));
    };
    expect(a, bits_a);
    expect(unite(a, b), bits_a | bits_b);
    expect(intersect(a, b), bits_a & bits_b);
    expect(subtract(a, b), bits_a & ~bits_b);
    const Interval window = {static_cast<int64_t>(random() % kSize),
                             static_cast<int64_t>(random() % kSize)};
    expect(clip(a, window), bits_a & bits_of({window}));
    expect(gaps(a, window), ~bits_a & bits_of({window}));
  }
}

TEST(Intervals, SweepEqualsTheBitmapOracle) {
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::vector<IntervalSet> sets(random() % 6);
    std::vector<Bits> bits;
    for (IntervalSet& set : sets) {
      set = random_intervals(random);
      bits.push_back(bits_of(set));
      normalise(set);
    }
    std::vector<uint32_t> masks(kSize, 0);
    int64_t last_end = 0;
    for (const Segment& segment : sweep(sets)) {
      ASSERT_LT(segment.time.start_ns, segment.time.end_ns);
      ASSERT_GE(segment.time.start_ns, last_end);
      last_end = segment.time.end_ns;
      for (int64_t t = segment.time.start_ns; t < segment.time.end_ns; ++t) {
        masks[static_cast<size_t>(t)] = segment.mask;
      }
    }
    for (size_t t = 0; t < kSize; ++t) {
      uint32_t expected = 0;
      for (size_t k = 0; k < bits.size(); ++k) expected |= bits[k][t] ? 1u << k : 0u;
      ASSERT_EQ(masks[t], expected) << "round " << round << ", time " << t;
    }
  }
}

TEST(Intervals, ZeroLengthCoversNothing) {
  std::vector<Interval> points = {{5, 5}, {7, 7}};
  normalise(points);
  EXPECT_TRUE(points.empty());
}

TEST(Intervals, TouchingIntervalsAreOne) {
  std::vector<Interval> intervals = {{5, 8}, {0, 5}};
  normalise(intervals);
  EXPECT_EQ(intervals, (IntervalSet{{0, 8}}));
}

}  // namespace
}  // namespace sonde::trace
