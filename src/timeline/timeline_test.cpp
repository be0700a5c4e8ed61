// Tracks, lanes and tiles of generated traces, against sums over the rows themselves.
#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "timeline/tile.h"
#include "timeline/tile_test_support.h"
#include "trace/trace_builder_test_support.h"

namespace sonde::timeline {
namespace {

using trace::Interval;
using trace::TraceBuilder;

trace::Trace random_trace(uint32_t seed, int ops) {
  std::mt19937 random(seed);
  TraceBuilder builder;
  for (int i = 0; i < ops; ++i) {
    const int64_t start_ns = 1000 + static_cast<int64_t>(random() % 1'000'000);
    const int64_t length_ns =
        i % 11 == 0 ? 0 : static_cast<int64_t>(random() % (i % 50 ? 900 : 90'000));
    builder.add(TraceBuilder::Op{.name = "k" + std::to_string(random() % 9),
                                 .start_ns = start_ns,
                                 .end_ns = start_ns + length_ns,
                                 .gpu = static_cast<int64_t>(random() % 2),
                                 .queue = static_cast<int64_t>(random() % 3)});
  }
  for (int i = 0; i < ops / 20; ++i) {  // calls within calls
    const int64_t start_ns = 20'000 * i;
    const int64_t tid = 1 + i % 2;
    builder.add({"hip", "outer", start_ns, start_ns + 15'000, tid, 40 + i % 3});
    builder.add({"hip", "inner", start_ns + 10, start_ns + 5'000, tid, 40 + i % 3});
    builder.add({"hip", "deep", start_ns + 10, start_ns + 20, tid, 40 + i % 3});
    builder.add({"hip", "inner", start_ns + 6'000, start_ns + 15'000, tid, 40 + i % 3});
  }
  return builder.build(seed);
}

std::vector<uint32_t> lanes_of(const Track& track) {
  std::vector<uint32_t> lanes(track.lanes);
  for (uint32_t i = 0; i < track.lanes; ++i) lanes[i] = track.first_lane + i;
  return lanes;
}

TEST(Timeline, HasEveryEventOnce) {
  const trace::Trace trace = random_trace(3, 4000);
  const Timeline timeline = make_timeline(trace);
  std::set<uint32_t> ops, apis;
  for (const Track& track : timeline.tracks) {
    if (track.kind == Track::Kind::kGpu) continue;
    const bool is_queue = track.kind == Track::Kind::kQueue;
    for (const uint32_t number : lanes_of(track)) {
      const Lane& lane = timeline.lanes[number];
      for (size_t i = 0; i < lane.size(); ++i) {
        const Event event = lane.event(i);
        EXPECT_TRUE((is_queue ? ops : apis).insert(event.row).second);
        const auto& table_start = is_queue ? trace.ops.start_ns : trace.apis.start_ns;
        EXPECT_EQ(event.start_ns, table_start[event.row]);
        EXPECT_EQ(event.name, is_queue ? trace.label(event.row) : trace.apis.label[event.row]);
        if (is_queue) {
          EXPECT_EQ(trace.ops.gpu[event.row], track.owner);
          EXPECT_EQ(trace.queues[trace.ops.queue[event.row]].queue, track.number);
        }
        EXPECT_TRUE(i == 0 || event.start_ns >= lane.end_ns(i - 1));
      }
    }
  }
  EXPECT_EQ(ops.size(), trace.ops.size());
  EXPECT_EQ(apis.size(), trace.apis.size());
}

TEST(Timeline, DrawsCallsByDepth) {
  const trace::Trace trace = random_trace(4, 400);
  const Timeline timeline = make_timeline(trace);
  int threads = 0;
  for (const Track& track : timeline.tracks) {
    if (track.kind != Track::Kind::kThread) continue;
    ++threads;
    ASSERT_EQ(track.lanes, 3U);
    const char* kNames[] = {"outer", "inner", "deep"};
    for (uint32_t depth = 0; depth < 3; ++depth) {
      const Lane& lane = timeline.lanes[track.first_lane + depth];
      for (size_t i = 0; i < lane.size(); ++i) {
        EXPECT_EQ(trace.names[lane.event(i).name], kNames[depth]);
      }
    }
  }
  EXPECT_EQ(threads, 6);
}

TEST(Timeline, HasTheTimeInWhichAGpuWasBusy) {
  const trace::Trace trace = random_trace(5, 3000);
  const Timeline timeline = make_timeline(trace);
  int gpus = 0;
  for (const Track& track : timeline.tracks) {
    if (track.kind != Track::Kind::kGpu) continue;
    ++gpus;
    std::vector<Interval> ops;
    for (size_t i = 0; i < trace.ops.size(); ++i) {
      if (trace.ops.gpu[i] == track.owner)
        ops.push_back({trace.ops.start_ns[i], trace.ops.end_ns[i]});
    }
    trace::normalise(ops);
    const Content whole = timeline.lanes[track.first_lane].content(timeline.span);
    EXPECT_EQ(whole.busy_ns, trace::length_ns(ops));
    EXPECT_EQ(whole.count, ops.size());
  }
  EXPECT_EQ(gpus, 2);
}

TEST(Timeline, OfAnEmptyTraceIsEmpty) {
  const Timeline timeline = make_timeline(TraceBuilder().build());
  EXPECT_TRUE(timeline.tracks.empty());
  EXPECT_FALSE(make_tile(timeline, std::vector<uint32_t>{0}, {0, 0}).ok());
}

// Each tile of a level, and their sums over a lane.
void expect_tiles_add_up(const Timeline& timeline, uint32_t number, int level) {
  const Lane& lane = timeline.lanes[number];
  uint64_t starts = 0, busy_ns = 0, counted = 0, bins = 0;
  double busy_bins = 0;
  int64_t exact_busy_ns = 0;
  for (int64_t k = 0;; ++k) {
    const auto time = time_of(timeline.span.start_ns, {level, k});
    ASSERT_TRUE(time.ok());
    if (time->start_ns >= timeline.span.end_ns) break;
    const std::vector<uint32_t> asked = {number};
    const auto bytes = make_tile(timeline, asked, {level, k});
    ASSERT_TRUE(bytes.ok());
    TileReader reader(*bytes);
    const ReadLane got = reader.lanes().at(0);
    ASSERT_EQ(reader.end(), bytes->size());
    starts += got.starts;
    busy_ns += got.busy_ns;
    bins += got.bin.size();
    for (size_t i = 0; i < got.bin.size(); ++i) {
      counted += got.count[i];
      busy_bins += got.busy[i] / 65535.0;
      ASSERT_LT(got.bin[i], kBins);
      ASSERT_GT(got.start_bins[i] + got.duration_bins[i] + 0.01F, got.bin[i]);
      ASSERT_LT(got.start_bins[i] - 0.01F, got.bin[i] + 1);
    }
    for (size_t i = 0; i < got.row.size() && got.form == 1; ++i) {
      const auto start_ns = static_cast<int64_t>(got.start_ns[i]);
      const auto end_ns = start_ns + static_cast<int64_t>(got.duration_ns[i]);
      counted += start_ns >= 0 ? 1 : 0;
      exact_busy_ns +=
          std::min(end_ns, time->end_ns - time->start_ns) - std::max<int64_t>(0, start_ns);
    }
  }
  EXPECT_EQ(starts, lane.size());
  EXPECT_EQ(counted, lane.size());
  int64_t truth_ns = 0;
  for (size_t i = 0; i < lane.size(); ++i) truth_ns += lane.end_ns(i) - lane.event(i).start_ns;
  EXPECT_EQ(busy_ns, static_cast<uint64_t>(truth_ns));
  // A bin's share is exact to one of its steps.
  const auto width_ns = static_cast<double>(int64_t{1} << level);
  EXPECT_NEAR(busy_bins * width_ns + static_cast<double>(exact_busy_ns),
              static_cast<double>(truth_ns), 1 + static_cast<double>(bins) * width_ns / 65535);
}

TEST(Tile, OfEachLevelHasEveryEvent) {
  const Timeline timeline = make_timeline(random_trace(6, 8000));
  for (uint32_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    for (const int level : {5, 8, 11, 20, 40}) {
      SCOPED_TRACE(std::to_string(lane) + " at " + std::to_string(level));
      ASSERT_NO_FATAL_FAILURE(expect_tiles_add_up(timeline, lane, level));
    }
  }
}

TEST(Tile, HasLanesInTheOrderOfTheQuestion) {
  const Timeline timeline = make_timeline(random_trace(7, 5000));
  const std::vector<uint32_t> asked = {3, 0, 1, 3};
  const auto bytes = make_tile(timeline, asked, {11, 0});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->substr(0, 4), "SNDT");
  const auto lanes = TileReader(*bytes).lanes();
  ASSERT_EQ(lanes.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(lanes[i].lane, asked[i]);
  EXPECT_EQ(lanes[0].bin, lanes[3].bin);
  EXPECT_EQ(lanes[0].row, lanes[3].row);
}

TEST(Tile, RefusesKeysThatNoTileHas) {
  const Timeline timeline = make_timeline(random_trace(8, 100));
  const std::vector<uint32_t> one = {0};
  for (const TileKey key : {TileKey{-1, 0}, TileKey{41, 0}, TileKey{0, -1}, TileKey{40, INT64_MAX},
                            TileKey{0, INT64_MAX}, TileKey{40, 1 << 14}}) {
    EXPECT_FALSE(make_tile(timeline, one, key).ok()) << key.level << "/" << key.number;
  }
  EXPECT_TRUE(make_tile(timeline, one, {40, 1000}).ok()) << "after the end there is nothing";
  EXPECT_FALSE(make_tile(timeline, std::vector<uint32_t>{9999}, {0, 0}).ok());
  EXPECT_FALSE(make_tile(timeline, std::vector<uint32_t>(65, 0), {0, 0}).ok());
  EXPECT_FALSE(make_tile(timeline, std::vector<uint32_t>{}, {0, 0}).ok());
}

}  // namespace
}  // namespace sonde::timeline
