#include "store/clock_track.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sonde::store {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ClockTrack, WithoutSnapshotsValuesStay) {
  ClockTrack track;
  EXPECT_EQ(track.to_monotonic_ns(17), 17);
  track.add(1000, 5000, 10);
  EXPECT_EQ(track.to_monotonic_ns(1100), 5100);
}

TEST(ClockTrack, FollowsAChangingRateWithinTenNanoseconds) {
  // 2.6 GHz, drifting by up to 50 ppm as NTP slews it, with snapshots every 50 ms.
  ClockTrack track;
  const auto monotonic = [](double ticks) {
    const double seconds = ticks / 2.6e9;
    return static_cast<int64_t>(std::llround((seconds + 50e-6 * std::sin(seconds / 10)) * 1e9)) +
           8306017670485923;
  };
  const int64_t base = 9'000'000'000'000'000;
  for (int i = 0; i <= 1200; ++i) {
    const double ticks = i * 0.05 * 2.6e9;
    track.add(base + static_cast<int64_t>(ticks), monotonic(ticks), 20);
  }
  for (int i = 0; i < 10000; ++i) {
    const double ticks = i * 0.006 * 2.6e9;
    EXPECT_NEAR(static_cast<double>(track.to_monotonic_ns(base + static_cast<int64_t>(ticks)) -
                                    monotonic(ticks)),
                0, 10);
  }
}

TEST(ClockTrack, StraightStretchesStaySmall) {
  ClockTrack track;
  for (int64_t i = 0; i < 100000; ++i) track.add(i * 130'000'000, i * 50'000'000, 20);
  EXPECT_LT(track.size(), 30000u);
  EXPECT_EQ(track.to_monotonic_ns(130 * kSecond), 50 * kSecond);
}

TEST(ClockTrack, OrderDoesNotMatterAndContradictionsAreIgnored) {
  ClockTrack track;
  track.add(2 * kSecond, 20 * kSecond, 5);
  track.add(0, 0, 5);
  track.add(kSecond, 10 * kSecond, 5);
  track.add(3 * kSecond, 15 * kSecond, 5);  // would run backwards
  EXPECT_EQ(track.to_monotonic_ns(kSecond / 2), 5 * kSecond);
  EXPECT_EQ(track.to_monotonic_ns(4 * kSecond), 40 * kSecond);
  EXPECT_EQ(track.to_monotonic_ns(-kSecond), -10 * kSecond);
}

TEST(ClockTrack, TwoCloseSnapshotsGiveARate) {
  for (const bool backwards : {false, true}) {
    ClockTrack track;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t time = 1000 + (backwards ? 2 - i : i) * 1'000'000;
      track.add(time * 3, time, 20);
    }
    EXPECT_EQ(track.to_monotonic_ns(3 * (1000 + 500'000)), 1000 + 500'000);
    EXPECT_EQ(track.size(), 2u);
    track.add(3 * kSecond, kSecond, 20);
    EXPECT_EQ(track.to_monotonic_ns(3 * kSecond / 2), kSecond / 2);
  }
}

TEST(ClockTrack, TheNewestComeBack) {
  ClockTrack track, back;
  for (int64_t i = 0; i < 100; ++i) track.add(i * kSecond * 3, i * kSecond + i * i, 20);
  for (int64_t i = 0; i < 100; i += 7) back.add(i * kSecond * 3, i * kSecond + i * i, 20);
  back.restore(track.newest(10));
  for (int64_t i = 90; i < 110; ++i) {
    EXPECT_EQ(back.to_monotonic_ns(i * kSecond * 3 + 1),
              track.to_monotonic_ns(i * kSecond * 3 + 1));
  }
  EXPECT_TRUE(back.covers(95 * kSecond));
  EXPECT_FALSE(back.covers(200 * kSecond));
}

TEST(ClockTrack, TheNarrowerOfTwoCloseSnapshotsWins) {
  ClockTrack track;
  track.add(0, 0, 5);
  track.add(kSecond, kSecond + 900, 1000);
  track.add(kSecond + 10, kSecond + 10, 20);
  EXPECT_EQ(track.to_monotonic_ns(kSecond + 10), kSecond + 10);
}

}  // namespace
}  // namespace sonde::store
