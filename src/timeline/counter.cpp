#include "timeline/counter.h"

#include <algorithm>

#include "base/check.h"
#include "timeline/bytes.h"

namespace sonde::timeline {
namespace {

constexpr size_t kFan = 16;
constexpr size_t kEntry = 16;

}  // namespace

void Counter::Band::take(const Band& other) {
  if (!other.known()) return;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  last = other.last;
}

void Counter::add(int64_t time_ns, double value) {
  SONDE_CHECK(time_ns_.empty() || time_ns_.back() <= time_ns);
  time_ns_.push_back(time_ns);
  value_.push_back(value);
}

void Counter::finish(int64_t end_ns) {
  SONDE_CHECK(levels_.empty());
  end_ns_ = end_ns;
  std::vector<Band> level;
  for (size_t i = 0; i < size(); ++i) {
    if (i % kFan == 0) level.emplace_back();
    level.back().take({value_[i], value_[i], value_[i]});
  }
  while (level.size() > 1) {
    std::vector<Band> above;
    for (size_t i = 0; i < level.size(); ++i) {
      if (i % kFan == 0) above.emplace_back();
      above.back().take(level[i]);
    }
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
}

Counter::Band Counter::band_of(size_t first, size_t end) const {
  Band band;
  while (first < end) {
    // The largest block that begins here and ends in time.
    size_t block = 1, level = 0;
    while (level < levels_.size() && first % (block * kFan) == 0 && first + block * kFan <= end) {
      block *= kFan;
      ++level;
    }
    band.take(level == 0 ? Band{value_[first], value_[first], value_[first]}
                         : levels_[level - 1][first / block]);
    first += block;
  }
  return band;
}

Counter::Band Counter::band(trace::Interval time) const {
  const auto place = [&](int64_t time_ns) {
    return static_cast<size_t>(std::lower_bound(time_ns_.begin(), time_ns_.end(), time_ns) -
                               time_ns_.begin());
  };
  const size_t first = place(time.start_ns), end = place(time.end_ns);
  Band band;
  const bool replaced = first < end && time_ns_[first] == time.start_ns;
  if (first > 0 && !replaced && time.start_ns < end_ns_) {
    band.take({value_[first - 1], value_[first - 1], value_[first - 1]});
  }
  if (first < end) band.take(band_of(first, end));
  return band;
}

Result<std::string> make_counter_tile(std::span<const Counter> all, int64_t start_ns,
                                      std::span<const uint32_t> counters, TileKey key) {
  SONDE_ASSIGN(const trace::Interval time, time_of(start_ns, key));
  SONDE_ASSIGN(std::string out, tile_head("SNDC", "counters", counters.size(), key));
  std::string columns;
  const int64_t width_ns = (time.end_ns - time.start_ns) / kBins;
  for (const uint32_t counter : counters) {
    if (counter >= all.size()) {
      return make_error(ErrorCode::kNotFound, "there is no such counter", std::to_string(counter));
    }
    std::vector<float> least, greatest, last;
    std::vector<uint16_t> bins;
    for (uint32_t k = 0; k < kBins; ++k) {
      const int64_t begin_ns = time.start_ns + k * width_ns;
      const Counter::Band band = all[counter].band({begin_ns, begin_ns + width_ns});
      if (!band.known()) continue;
      least.push_back(static_cast<float>(band.least));
      greatest.push_back(static_cast<float>(band.greatest));
      last.push_back(static_cast<float>(band.last));
      bins.push_back(static_cast<uint16_t>(k));
    }
    align_columns(columns);
    put(out, counter);
    put(out, static_cast<uint32_t>(bins.size()));
    put(out, static_cast<uint32_t>(kTileHead + kEntry * counters.size() + columns.size()));
    put<uint32_t>(out, 0);
    for (const auto* column : {&least, &greatest, &last}) put_column(columns, *column);
    put_column(columns, bins);
  }
  return out + columns;
}

}  // namespace sonde::timeline
