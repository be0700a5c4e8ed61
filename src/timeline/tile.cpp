#include "timeline/tile.h"

#include <algorithm>
#include <vector>

#include "timeline/bytes.h"

namespace sonde::timeline {
namespace {

constexpr size_t kEntry = 32;

struct Rows {
  uint32_t form = 0, count = 0;
  std::string columns;
};

Rows exact_rows(const Lane& lane, trace::Interval time, size_t first, size_t end) {
  std::vector<double> start, duration;
  std::vector<uint32_t> row, name;
  for (size_t i = first; i < end; ++i) {
    const Event event = lane.event(i);
    start.push_back(static_cast<double>(event.start_ns - time.start_ns));
    duration.push_back(static_cast<double>(event.end_ns - event.start_ns));
    row.push_back(event.row);
    name.push_back(event.name);
  }
  Rows rows{1, static_cast<uint32_t>(end - first), {}};
  put_column(rows.columns, start);
  put_column(rows.columns, duration);
  put_column(rows.columns, row);
  put_column(rows.columns, name);
  return rows;
}

uint16_t share_of(int64_t busy_ns, int64_t width_ns) {
  const double share = static_cast<double>(busy_ns) / static_cast<double>(width_ns) * 65535;
  return static_cast<uint16_t>(std::max(share + 0.5, busy_ns > 0 ? 1.0 : 0.0));
}

Rows binned_rows(const Lane& lane, trace::Interval time, size_t first) {
  std::vector<uint32_t> count, row, name;
  std::vector<float> start, duration;
  std::vector<uint16_t> bin, busy;
  const int64_t width_ns = (time.end_ns - time.start_ns) / kBins;
  for (uint32_t k = 0; k < kBins; ++k) {
    const int64_t begin_ns = time.start_ns + k * width_ns;
    const trace::Interval part = {begin_ns, begin_ns + width_ns};
    const size_t end = lane.first_from(part.end_ns, first);
    const Content content = lane.content(part, first, end);
    first = end;
    if (content.longest == kNoEvent) continue;
    const Event event = lane.event(content.longest);
    const auto bins = [&](int64_t ns) {
      return static_cast<float>(static_cast<double>(ns) / static_cast<double>(width_ns));
    };
    count.push_back(static_cast<uint32_t>(content.count));
    row.push_back(event.row);
    name.push_back(event.name);
    start.push_back(bins(event.start_ns - time.start_ns));
    duration.push_back(bins(event.end_ns - event.start_ns));
    bin.push_back(static_cast<uint16_t>(k));
    busy.push_back(share_of(content.busy_ns, width_ns));
  }
  Rows rows{0, static_cast<uint32_t>(bin.size()), {}};
  for (const auto* column : {&count, &row, &name}) put_column(rows.columns, *column);
  put_column(rows.columns, start);
  put_column(rows.columns, duration);
  put_column(rows.columns, bin);
  put_column(rows.columns, busy);
  return rows;
}

Rows rows_of(const Lane& lane, trace::Interval time, Content& whole) {
  const size_t first = lane.first_from(time.start_ns);
  const size_t end = lane.first_from(time.end_ns, first);
  whole = lane.content(time, first, end);
  const bool runs_before = first > 0 && lane.end_ns(first - 1) > time.start_ns;
  const size_t from = runs_before ? first - 1 : first;
  return end - from <= kBins ? exact_rows(lane, time, from, end) : binned_rows(lane, time, first);
}

}  // namespace

Result<trace::Interval> time_of(int64_t start_ns, TileKey key) {
  int64_t begin_ns = 0, end_ns = 0;
  const bool known = key.level >= 0 && key.level <= kMostLevel && key.number >= 0;
  const int64_t width_ns = known ? int64_t{kBins} << key.level : 0;
  if (!known || __builtin_mul_overflow(key.number, width_ns, &begin_ns) ||
      __builtin_add_overflow(begin_ns, start_ns, &begin_ns) ||
      __builtin_add_overflow(begin_ns, width_ns, &end_ns)) {
    return make_error(ErrorCode::kInvalidArgument, "there is no such tile",
                      std::to_string(key.level) + "/" + std::to_string(key.number),
                      "levels are 0 to 40, tiles count from 0");
  }
  return trace::Interval{begin_ns, end_ns};
}

Result<std::string> tile_head(std::string_view magic, const char* what, size_t count, TileKey key) {
  if (count == 0 || count > kMostLanes) {
    return make_error(ErrorCode::kInvalidArgument, std::string("not 1 to 64 ") + what, "tile");
  }
  std::string out(magic);
  put<uint16_t>(out, 1);
  put(out, static_cast<uint16_t>(count));
  put(out, static_cast<uint32_t>(key.level));
  put(out, kBins);
  put(out, static_cast<uint64_t>(key.number));
  put<uint64_t>(out, 0);
  return out;
}

Result<std::string> make_tile(const Timeline& timeline, std::span<const uint32_t> lanes,
                              TileKey key) {
  SONDE_ASSIGN(const trace::Interval time, time_of(timeline.span.start_ns, key));
  SONDE_ASSIGN(std::string out, tile_head("SNDT", "lanes", lanes.size(), key));
  std::string columns;
  for (const uint32_t lane : lanes) {
    if (lane >= timeline.lanes.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such lane", std::to_string(lane));
    }
    Content whole;
    const Rows rows = rows_of(timeline.lanes[lane], time, whole);
    align_columns(columns);
    put(out, lane);
    put(out, rows.form);
    put(out, rows.count);
    put(out, static_cast<uint32_t>(kTileHead + kEntry * lanes.size() + columns.size()));
    put(out, whole.count);
    put(out, static_cast<uint64_t>(whole.busy_ns));
    columns += rows.columns;
  }
  return out + columns;
}

}  // namespace sonde::timeline
