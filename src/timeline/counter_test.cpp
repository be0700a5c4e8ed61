// Bands of counters against a look at every reading, and their tiles as a page reads them.
#include "timeline/counter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace sonde::timeline {
namespace {

struct Reading {
  int64_t time_ns;
  double value;
};

Counter counter_of(const std::vector<Reading>& readings, int64_t end_ns) {
  Counter counter;
  for (const Reading& each : readings) counter.add(each.time_ns, each.value);
  counter.finish(end_ns);
  return counter;
}

// Of every moment of the window.
Counter::Band looked_at(const std::vector<Reading>& readings, trace::Interval time,
                        int64_t end_ns) {
  Counter::Band band;
  for (int64_t t = time.start_ns; t < time.end_ns; ++t) {
    const Reading* holds = nullptr;
    for (const Reading& each : readings) {
      if (each.time_ns > t) break;
      if (each.time_ns == t || t < end_ns) holds = &each;
    }
    // Of several at one time all were there.
    for (const Reading& each : readings) {
      if (each.time_ns == t) band.take({each.value, each.value, each.value});
    }
    if (holds != nullptr) band.take({holds->value, holds->value, holds->value});
  }
  return band;
}

TEST(Counter, BandsAreThoseOfEveryReading) {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    std::vector<Reading> readings;
    int64_t now_ns = 100;
    const size_t count = random() % 700;
    for (size_t i = 0; i < count; ++i) {
      now_ns += static_cast<int64_t>(random() % 4);
      const bool gone = random() % 20 == 0;
      readings.push_back(
          {now_ns, gone ? std::nan("") : static_cast<double>(random() % 1000) - 500});
    }
    const int64_t end_ns = now_ns + 10;
    const Counter counter = counter_of(readings, end_ns);
    for (int i = 0; i < 30; ++i) {
      const auto start_ns = static_cast<int64_t>(random() % static_cast<uint32_t>(now_ns + 60));
      const trace::Interval time = {start_ns, start_ns + 1 + static_cast<int64_t>(random() % 300)};
      const Counter::Band band = counter.band(time), truth = looked_at(readings, time, end_ns);
      ASSERT_EQ(band.known(), truth.known()) << time.start_ns << " to " << time.end_ns;
      if (!truth.known()) continue;
      ASSERT_EQ(band.least, truth.least) << time.start_ns << " to " << time.end_ns;
      ASSERT_EQ(band.greatest, truth.greatest) << time.start_ns << " to " << time.end_ns;
      ASSERT_EQ(band.last, truth.last) << time.start_ns << " to " << time.end_ns;
    }
  }
}

template <typename T>
T at(const std::string& bytes, size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(Counter, ATileSaysWhatEachBinHolds) {
  std::vector<Counter> all;
  all.push_back(counter_of({{1000, 1}, {1004, 9}, {1005, 3}}, 1010));
  all.push_back(counter_of({{1600, 5}}, 1601));
  const std::vector<uint32_t> asked = {1, 0};
  const auto tile = make_counter_tile(all, 1000, asked, {1, 0});  // bins of 2 ns
  ASSERT_TRUE(tile.ok());
  EXPECT_EQ(tile->substr(0, 4), "SNDC");
  EXPECT_EQ(at<uint16_t>(*tile, 6), 2);
  EXPECT_EQ(at<uint32_t>(*tile, 32), 1U);
  EXPECT_EQ(at<uint32_t>(*tile, 36), 1U);  // one bin
  const auto first = at<uint32_t>(*tile, 40);
  EXPECT_EQ(at<float>(*tile, first), 5);
  EXPECT_EQ(at<uint16_t>(*tile, first + 12), 300);
  const auto rows = at<uint32_t>(*tile, 52), second = at<uint32_t>(*tile, 56);
  ASSERT_EQ(rows, 5U);  // 1000 to 1010
  const std::vector<float> least = {1, 1, 3, 3, 3}, greatest = {1, 1, 9, 3, 3};
  for (uint32_t i = 0; i < rows; ++i) {
    EXPECT_EQ(at<float>(*tile, second + 4 * i), least[i]);
    EXPECT_EQ(at<float>(*tile, second + 4 * (rows + i)), greatest[i]);
    EXPECT_EQ(at<uint16_t>(*tile, second + 12 * rows + 2 * i), i);
  }
  EXPECT_FALSE(make_counter_tile(all, 1000, {}, {1, 0}).ok());
  const std::vector<uint32_t> none = {2};
  EXPECT_FALSE(make_counter_tile(all, 1000, none, {1, 0}).ok());
  EXPECT_FALSE(make_counter_tile(all, 1000, asked, {41, 0}).ok());
}

}  // namespace
}  // namespace sonde::timeline
