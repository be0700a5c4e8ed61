// Indexes, tracks, lanes and tiles of generated traces, against the rows as a Trace has them and
// sums over these.
#include "timeline/timeline.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/test_support.h"
#include "store/writer.h"
#include "timeline/index_test_support.h"
#include "timeline/tile.h"
#include "timeline/tile_test_support.h"

namespace sonde::timeline {
namespace {

using test::value_of;
using trace::Interval;

struct Row {
  bool is_op = true;
  std::string name;
  int64_t start_ns = 0, end_ns = 0;
  int64_t owner = 0, number = 0;  // GPU and queue, or process and thread
};

std::vector<Row> random_rows(uint32_t seed, int ops) {
  std::mt19937 random(seed);
  std::vector<Row> rows;
  for (int i = 0; i < ops; ++i) {
    const int64_t start_ns = 1000 + static_cast<int64_t>(random() % 1'000'000);
    const int64_t length_ns =
        i % 11 == 0 ? 0 : static_cast<int64_t>(random() % (i % 50 ? 900 : 90'000));
    rows.push_back({true, "k" + std::to_string(random() % 9), start_ns, start_ns + length_ns,
                    static_cast<int64_t>(random() % 2), static_cast<int64_t>(random() % 3)});
  }
  for (int i = 0; i < ops / 20; ++i) {  // calls within calls
    const int64_t start_ns = 20'000 * i, pid = 40 + i % 3, tid = 1 + i % 2;
    rows.push_back({false, "outer", start_ns, start_ns + 15'000, pid, tid});
    rows.push_back({false, "inner", start_ns + 10, start_ns + 5'000, pid, tid});
    rows.push_back({false, "deep", start_ns + 10, start_ns + 20, pid, tid});
    rows.push_back({false, "inner", start_ns + 6'000, start_ns + 15'000, pid, tid});
  }
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

void write_rows(const std::string& path, const std::vector<Row>& rows) {
  auto writer = value_of(store::Writer::open(path, store::Writer::Mode::kCreate));
  int64_t last_api = 0;
  for (const Row& row : rows) {
    const int64_t name = writer.string(row.name);
    if (row.is_op) {
      const int64_t op = writer.op({row.owner, row.number, 0, row.start_ns, row.end_ns, name,
                                    writer.string("KernelExecution")});
      if (last_api != 0 && op % 3 == 0) writer.api_op(last_api, op);
      if (last_api > 1 && op % 6 == 0)
        writer.api_op(last_api - 1, op);  // the first one launched it
    } else {
      last_api = writer.api(
          {row.owner, row.number, row.start_ns, row.end_ns, name, 0, writer.string("hip"), 0});
    }
  }
  test::expect_ok(writer.finish());
}

// A trace in a file, and both ways to see it.
struct Made {
  explicit Made(const std::vector<Row>& rows) {
    write_rows(path, rows);
    auto opened = reader();
    trace = value_of(trace::load(opened, {.ops = true, .op_ids = true, .links = true}));
    index = value_of(index_of(opened));
  }
  store::Reader reader() const { return value_of(store::Reader::open(path)); }
  const Timeline& timeline() const { return index.timeline; }

  test::TemporaryDirectory folder;
  std::string path = folder / "a.rpd";
  trace::Trace trace;
  Index index;
};

std::vector<uint32_t> lanes_of(const Track& track) {
  std::vector<uint32_t> lanes(track.lanes);
  for (uint32_t i = 0; i < track.lanes; ++i) lanes[i] = track.first_lane + i;
  return lanes;
}

TEST(Timeline, HasEveryEventOnce) {
  const Made made(random_rows(3, 4000));
  const trace::Trace& trace = made.trace;
  const Timeline& timeline = made.timeline();
  std::set<uint32_t> ops, apis;
  for (const Track& track : timeline.tracks) {
    if (track.kind == Track::Kind::kGpu || track.kind == Track::Kind::kPacked) continue;
    const bool is_queue = track.kind == Track::Kind::kQueue;
    for (const uint32_t number : lanes_of(track)) {
      const Lane& lane = timeline.lanes[number];
      for (size_t i = 0; i < lane.size(); ++i) {
        const Event event = lane.event(i);
        EXPECT_TRUE((is_queue ? ops : apis).insert(event.row).second);
        const auto& table_start = is_queue ? trace.ops.start_ns : trace.apis.start_ns;
        EXPECT_EQ(event.start_ns, table_start[event.row]);
        EXPECT_EQ(made.index.names[event.name],
                  trace.names[is_queue ? trace.label(event.row) : trace.apis.label[event.row]]);
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

TEST(Index, KnowsTheRowsOfTheFile) {
  const Made made(random_rows(12, 3000));
  const trace::Ops& ops = made.trace.ops;
  ASSERT_EQ(made.index.op_ids.size(), ops.size());
  ASSERT_EQ(made.index.api_ids.size(), made.trace.apis.size());
  EXPECT_EQ(made.index.origin_ns, made.trace.origin_ns);
  std::map<trace::Row, uint32_t> first, launched;
  for (uint32_t row = 0; row < ops.size(); ++row) {
    ASSERT_EQ(made.index.op_ids[row], ops.id[row]);
    const trace::Row api = ops.api[row];
    ASSERT_EQ(made.index.op_api[row], api == trace::kNone ? kNoRow : static_cast<uint32_t>(api));
    if (api == trace::kNone) continue;
    first.emplace(api, row);
    ++launched[api];
  }
  EXPECT_GT(launched.size(), 100U);
  for (uint32_t row = 0; row < made.trace.apis.size(); ++row) {
    const auto api = static_cast<trace::Row>(row);
    EXPECT_EQ(made.index.api_op_count[row], launched.count(api) == 0 ? 0 : launched[api]);
    EXPECT_EQ(made.index.api_op[row], first.count(api) == 0 ? kNoRow : first[api]);
  }
}

TEST(Index, NamesKeepTheirNumbersWhenTheTraceGrows) {
  auto rows = random_rows(15, 300);
  const Made before(rows);
  rows.insert(rows.begin(), {true, "new", 5, 9, 0, 0});  // read before all that is known
  const Made after(rows);
  auto reader = after.reader();
  const Index index = value_of(index_of(reader, {}, before.index.names));
  const Names& known = before.index.names;
  ASSERT_EQ(index.names.size(), known.size() + 1);
  EXPECT_TRUE(std::equal(known.begin(), known.end(), index.names.begin()));
  EXPECT_EQ(index.names.back(), "new");
  EXPECT_EQ(after.index.names[1], "new") << "without them it is numbered otherwise";
  // And each event has the name that it has without them.
  for (size_t i = 0; i < index.timeline.lanes.size(); ++i) {
    const Lane &lane = index.timeline.lanes[i], &same = after.timeline().lanes[i];
    ASSERT_EQ(lane.size(), same.size());
    for (size_t k = 0; k < lane.size(); ++k) {
      if (lane.event(k).row == kNoRow) continue;
      ASSERT_EQ(index.names[lane.event(k).name], after.index.names[same.event(k).name]);
    }
  }
}

void store_index(const Made& made, const std::string& path, const FileKey& key) {
  auto reader = made.reader();
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  Progress progress;
  test::expect_ok(build_index(reader, key, fd.get(), made.folder.path(), progress));
}

bool loads(const std::string& path, const FileKey& key) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return load_index(fd.get(), path, key).ok();
}

TEST(Index, OfAnotherFileOrADamagedOneIsNone) {
  const Made made(random_rows(13, 900));
  const std::string path = made.folder / "an.index";
  const FileKey key{1, 2, 3, 4, 5, 6};
  store_index(made, path, key);
  ASSERT_TRUE(loads(path, key));
  for (auto part : {&FileKey::device, &FileKey::inode, &FileKey::size, &FileKey::commits}) {
    FileKey other = key;
    ++(other.*part);
    EXPECT_FALSE(loads(path, other));
  }
  for (auto part : {&FileKey::modified_ns, &FileKey::changed_ns}) {
    FileKey other = key;
    ++(other.*part);
    EXPECT_FALSE(loads(path, other));
  }
  const auto size = static_cast<off_t>(std::filesystem::file_size(path));
  // Each byte of the head, and some of the tables at the end.
  std::vector<off_t> places;
  for (off_t at = 0; at < 88; ++at) places.push_back(at);
  for (off_t at = size - 400; at < size; at += 13) places.push_back(at);
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (const off_t at : places) {
    unsigned char byte = 0;
    ASSERT_EQ(::pread(fd.get(), &byte, 1, at), 1);
    const unsigned char other = byte ^ 0x41;
    ASSERT_EQ(::pwrite(fd.get(), &other, 1, at), 1);
    EXPECT_FALSE(loads(path, key)) << at;
    ASSERT_EQ(::pwrite(fd.get(), &byte, 1, at), 1);
  }
  ASSERT_TRUE(loads(path, key));
  for (const off_t cut : {size - 1, size / 2, off_t{100}, off_t{3}, off_t{0}}) {
    ASSERT_EQ(::ftruncate(fd.get(), cut), 0);
    EXPECT_FALSE(loads(path, key)) << cut;
  }
}

TEST(Index, IsStoppedWhenNobodyWantsIt) {
  const Made made(random_rows(14, 500));
  auto reader = made.reader();
  const UniqueFd fd(::open((made.folder / "x").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  Progress progress;
  progress.stop = true;
  EXPECT_FALSE(build_index(reader, {}, fd.get(), made.folder.path(), progress).ok());
}

TEST(Timeline, DrawsCallsByDepth) {
  const Made made(random_rows(4, 400));
  const Timeline& timeline = made.timeline();
  int threads = 0;
  for (const Track& track : timeline.tracks) {
    if (track.kind != Track::Kind::kThread) continue;
    ++threads;
    ASSERT_EQ(track.lanes, 3U);
    const char* kNames[] = {"outer", "inner", "deep"};
    for (uint32_t depth = 0; depth < 3; ++depth) {
      const Lane& lane = timeline.lanes[track.first_lane + depth];
      for (size_t i = 0; i < lane.size(); ++i) {
        EXPECT_EQ(made.index.names[lane.event(i).name], kNames[depth]);
      }
    }
  }
  EXPECT_EQ(threads, 6);
}

TEST(Timeline, PacksTheQueuesOfAGpuWithoutLeavingOneOperationOut) {
  const Made made(random_rows(6, 3000));
  const trace::Trace& trace = made.trace;
  const Timeline& timeline = made.timeline();
  std::set<uint32_t> ops;
  for (const Track& track : timeline.tracks) {
    if (track.kind != Track::Kind::kPacked) continue;
    std::vector<std::pair<int64_t, int>> ends;  // how many run at once at most
    for (const uint32_t number : lanes_of(track)) {
      const Lane& lane = timeline.lanes[number];
      for (size_t i = 0; i < lane.size(); ++i) {
        const Event event = lane.event(i);
        EXPECT_TRUE(ops.insert(event.row).second);
        EXPECT_EQ(event.start_ns, trace.ops.start_ns[event.row]);
        EXPECT_EQ(lane.end_ns(i), trace.ops.end_ns[event.row]);
        EXPECT_EQ(trace.ops.gpu[event.row], track.owner);
        EXPECT_TRUE(i == 0 || event.start_ns >= lane.end_ns(i - 1));
        EXPECT_EQ(lane.with_row(event.row), i);
        ends.emplace_back(event.start_ns, 1);
        ends.emplace_back(lane.end_ns(i), -1);
      }
    }
    std::sort(ends.begin(), ends.end());
    int at_once = 0, most = 0;
    for (const auto& [time_ns, change] : ends) most = std::max(most, at_once += change);
    EXPECT_GE(track.lanes, static_cast<uint32_t>(most));
    EXPECT_LE(track.lanes,
              static_cast<uint32_t>(most) + 1);  // one of no length begins where another does
  }
  EXPECT_EQ(ops.size(), trace.ops.size());
}

TEST(Timeline, HasTheTimeInWhichAGpuWasBusy) {
  const Made made(random_rows(5, 3000));
  const trace::Trace& trace = made.trace;
  const Timeline& timeline = made.timeline();
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
  const Made made({});
  const Timeline& timeline = made.timeline();
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
  const Made made(random_rows(6, 8000));
  const Timeline& timeline = made.timeline();
  for (uint32_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    for (const int level : {5, 8, 11, 20, 40}) {
      SCOPED_TRACE(std::to_string(lane) + " at " + std::to_string(level));
      ASSERT_NO_FATAL_FAILURE(expect_tiles_add_up(timeline, lane, level));
    }
  }
}

TEST(Tile, HasLanesInTheOrderOfTheQuestion) {
  const Made made(random_rows(7, 5000));
  const Timeline& timeline = made.timeline();
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
  const Made made(random_rows(8, 100));
  const Timeline& timeline = made.timeline();
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
