#include "isa/caches.h"

#include <algorithm>

namespace softgpu::isa {

using Geometry = CacheGeometry;

CacheModel::CacheModel(CounterBank& counters, const CacheGeometry& geometry)
    : counters_(counters),
      geometry_(counters.geometry()),
      tcc_sets_(
          std::max<uint32_t>(1, static_cast<uint32_t>(geometry.tcc_bytes / geometry_.channels /
                                                      Geometry::kTccLine / Geometry::kTccWays))),
      tcp_(geometry_.units) {}

void CacheModel::begin_dispatch() {
  std::lock_guard lock(mutex_);
  tcc_.resize(size_t{geometry_.channels} * tcc_sets_ * Geometry::kTccWays);
  for (auto& each : tcp_) each.clear();
}

void CacheModel::write_back(Line& line, uint32_t channel) {
  counters_.add(counter::TCC_WRITEBACK, 0, channel, 1);
  counters_.add(counter::TCC_EA_WRREQ, 0, channel, 2);
  counters_.add(counter::TCC_EA_WRREQ_64B, 0, channel, 2);
  line.is_dirty = false;
}

void CacheModel::end_dispatch() {
  std::lock_guard lock(mutex_);
  for (const size_t place : filled_) {
    Line& line = tcc_[place];
    const size_t channel = place / (size_t{tcc_sets_} * Geometry::kTccWays);
    if (line.used != 0 && line.is_dirty) write_back(line, static_cast<uint32_t>(channel));
  }
}

void CacheModel::invalidate_all() {
  std::lock_guard lock(mutex_);
  for (const size_t place : filled_) tcc_[place] = {};
  filled_.clear();
}

void CacheModel::invalidate(uint64_t group) {
  std::lock_guard lock(mutex_);
  tcp_[group % geometry_.units].clear();
  counters_.add(counter::TCP_TOTAL_WRITEBACK_INVALIDATES, geometry_.engine_of(group),
                geometry_.unit_of(group), 1);
}

std::pair<CacheModel::Line*, bool> CacheModel::find(std::span<Line> set, uint64_t tag) {
  Line* oldest = set.data();
  for (Line& line : set) {
    if (line.used != 0 && line.tag == tag) return {&line, true};
    if (line.used < oldest->used) oldest = &line;
  }
  return {oldest, false};
}

void CacheModel::access(uint64_t group, Access kind, bool returns, std::span<const Bytes> bytes) {
  std::vector<uint64_t> lines;
  for (const Bytes& each : bytes) {
    for (uint64_t line = each.address / Geometry::kTcpLine;
         line <= (each.address + each.count - 1) / Geometry::kTcpLine; ++line)
      lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const uint32_t engine = geometry_.engine_of(group), unit = geometry_.unit_of(group);
  const auto add = [&](counter::Id id, uint64_t value) {
    if (value != 0) counters_.add(id, engine, unit, value);
  };
  const counter::Id totals[] = {
      counter::TCP_TOTAL_READ, counter::TCP_TOTAL_WRITE,
      returns ? counter::TCP_TOTAL_ATOMIC_WITH_RET : counter::TCP_TOTAL_ATOMIC_WITHOUT_RET};
  const counter::Id requests[] = {
      counter::TCP_TCC_READ_REQ, counter::TCP_TCC_WRITE_REQ,
      returns ? counter::TCP_TCC_ATOMIC_WITH_RET_REQ : counter::TCP_TCC_ATOMIC_WITHOUT_RET_REQ};
  const size_t what = static_cast<size_t>(kind) - static_cast<size_t>(Access::kLoad);
  std::lock_guard lock(mutex_);
  std::vector<Line>& cache = tcp_[group % geometry_.units];
  if (cache.empty()) cache.resize(size_t{Geometry::kTcpSets} * Geometry::kTcpWays);
  uint64_t passed = 0;
  for (const uint64_t line : lines) {
    const std::span<Line> set(&cache[line % Geometry::kTcpSets * Geometry::kTcpWays],
                              Geometry::kTcpWays);
    const auto [found, is_there] = find(set, line);
    if (kind == Access::kAtomic && is_there) found->used = 0;
    if (kind == Access::kLoad) {
      *found = {line, ++now_, false};
      if (is_there) continue;
    }
    ++passed;
    request(line * Geometry::kTcpLine, kind);
  }
  add(totals[what], lines.size());
  add(counter::TCP_TOTAL_ACCESSES, lines.size());
  add(counter::TCP_TOTAL_CACHE_ACCESSES, lines.size());
  add(requests[what], passed);
}

// A request to L2; misses are fetched from memory, whatever the access does.
void CacheModel::request(uint64_t address, Access kind) {
  const auto channel =
      static_cast<uint32_t>(address / Geometry::kChannelBytes % geometry_.channels);
  const auto add = [&](counter::Id id, uint64_t value) { counters_.add(id, 0, channel, value); };
  constexpr uint64_t kLines = Geometry::kChannelBytes / Geometry::kTccLine;
  const uint64_t line = address / Geometry::kChannelBytes / geometry_.channels * kLines +
                        address / Geometry::kTccLine % kLines;
  const std::span<Line> set(
      &tcc_[(size_t{channel} * tcc_sets_ + line % tcc_sets_) * Geometry::kTccWays],
      Geometry::kTccWays);
  const auto [found, is_there] = find(set, line);
  add(counter::TCC_REQ, 1);
  add(kind == Access::kLoad    ? counter::TCC_READ
      : kind == Access::kStore ? counter::TCC_WRITE
                               : counter::TCC_ATOMIC,
      1);
  add(is_there ? counter::TCC_HIT : counter::TCC_MISS, 1);
  if (!is_there) {
    if (found->used == 0) filled_.push_back(static_cast<size_t>(found - tcc_.data()));
    if (found->used != 0 && found->is_dirty) write_back(*found, channel);
    add(counter::TCC_EA_RDREQ, 2);
    *found = {line, 0, false};
  }
  found->used = ++now_;
  found->is_dirty |= kind != Access::kLoad;
}

}  // namespace softgpu::isa
