// Tiles of real traces against two other ways to the same figures: SQL counts what starts in a
// window, and the analysis `busy` says how long a GPU was busy in it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/analysis.h"
#include "base/test_support.h"
#include "importers/import.h"
#include "timeline/index_test_support.h"
#include "timeline/tile.h"
#include "timeline/tile_test_support.h"

namespace sonde {
namespace {

using test::value_of;
using timeline::Timeline;
using timeline::Track;
using trace::Interval;

int64_t counted(store::Reader& reader, const std::string& view, Interval time) {
  auto rows = value_of(reader.database().prepare(
      fmt::format("SELECT count(*) FROM {} WHERE start_ns >= {} AND start_ns < {}", view,
                  time.start_ns, time.end_ns)));
  EXPECT_TRUE(*rows.step());
  return rows.integer(0);
}

// By GPU, as the analysis says it.
std::map<int64_t, int64_t> busy_of(store::Reader& reader, Interval time) {
  trace::Request request = analysis::needs_of("busy");
  request.window = {time, time};
  const auto trace = value_of(trace::load(reader, request));
  const auto report = value_of(analysis::run_analysis("busy", trace));
  const report::Table& table = report.sections.at(0).table;
  const auto column = static_cast<size_t>(report::find_column(table, "busy_ns"));
  std::map<int64_t, int64_t> busy;
  for (const auto& row : table.rows)
    busy[std::get<int64_t>(row[0])] = std::get<int64_t>(row[column]);
  return busy;
}

struct Sums {
  int64_t ops = 0, apis = 0;
  std::map<int64_t, int64_t> busy_ns;
};

Sums sums_of(const Timeline& timeline, timeline::TileKey key) {
  Sums sums;
  for (const Track& track : timeline.tracks) {
    for (uint32_t i = 0; i < track.lanes; ++i) {
      const std::vector<uint32_t> asked = {track.first_lane + i};
      const auto bytes = value_of(make_tile(timeline, asked, key));
      const timeline::ReadLane lane = timeline::TileReader(bytes).lanes().at(0);
      uint64_t count = 0;  // of what is drawn, not the figure beside it
      for (const uint32_t starts : lane.count) count += starts;
      for (const double start_ns : lane.start_ns) count += start_ns >= 0 ? 1 : 0;
      if (track.kind == Track::Kind::kQueue) sums.ops += static_cast<int64_t>(count);
      if (track.kind == Track::Kind::kThread) sums.apis += static_cast<int64_t>(count);
      if (track.kind == Track::Kind::kGpu && lane.busy_ns > 0) {
        sums.busy_ns[track.owner] = static_cast<int64_t>(lane.busy_ns);
      }
    }
  }
  return sums;
}

void expect_tiles_right(const std::string& path) {
  SCOPED_TRACE(path);
  auto opened = value_of(importers::open_trace(path, ""));
  const auto index = value_of(timeline::index_of(opened));
  const Timeline& timeline = index.timeline;
  const auto span = static_cast<uint64_t>(timeline.span.end_ns - timeline.span.start_ns);
  std::mt19937_64 random(span);
  for (int i = 0; i < 24; ++i) {
    const int level = static_cast<int>(random() % 26);
    const timeline::TileKey key = {
        level, static_cast<int64_t>(random() % (span + 1)) / (int64_t{timeline::kBins} << level)};
    const auto time = value_of(timeline::time_of(timeline.span.start_ns, key));
    SCOPED_TRACE(fmt::format("tile {}/{}", key.level, key.number));
    const Sums sums = sums_of(timeline, key);
    EXPECT_EQ(sums.ops, counted(opened, "v_op", time));
    EXPECT_EQ(sums.apis, counted(opened, "v_api", time));
    std::map<int64_t, int64_t> busy = busy_of(opened, time);
    for (auto row = busy.begin(); row != busy.end();) {  // only operations without length
      row = row->second == 0 ? busy.erase(row) : std::next(row);
    }
    EXPECT_EQ(sums.busy_ns, busy);
  }
}

TEST(TimelineFigures, TilesOfRealTracesEqualSqlAndBusy) {
  int found = 0;
  for (const char* name :
       {"rpd/matmul_result.rpd", "rpd/matmul_result_large.rpd", "rpd/mytrace.rpd.gz",
        "kineto/mi250_minitoy.json.gz", "kineto/h100_bert_small.json.gz",
        "kineto/mi210_gpu_only.json.gz", "kineto/nccl_data.json.gz", "kineto/cpu_only.json.gz",
        "rocpd/synthetic_v3.db", "rocprofv3/mi300_908_results.json.gz",
        "rocprof-v1/results.json"}) {
    const std::string path = test::real_file(name);
    if (path.empty()) continue;
    ++found;
    ASSERT_NO_FATAL_FAILURE(expect_tiles_right(path));
  }
  if (found == 0) GTEST_SKIP() << "no real traces";
}

}  // namespace
}  // namespace sonde
