#include "importers/perfetto/slices.h"

#include <algorithm>

namespace sonde::importers {

namespace {

using Type = PerfettoEvent::Type;

bool pairs_as_written(const std::vector<PerfettoEvent>& events,
                      const std::vector<uint32_t>& track) {
  size_t open = 0;
  int64_t before_ns = INT64_MIN;
  for (const uint32_t index : track) {
    const PerfettoEvent& event = events[index];
    if (open > 0 && event.time_ns < before_ns) return false;
    before_ns = event.time_ns;
    if (event.type == Type::kBegin) ++open;
    if (event.type == Type::kEnd && open-- == 0) return false;
  }
  return true;
}

}  // namespace

std::vector<PerfettoSlice> pair_slices(const std::vector<PerfettoEvent>& events,
                                       std::vector<uint32_t> track, int64_t last_ns,
                                       uint64_t& stray_ends) {
  if (!pairs_as_written(events, track)) {
    std::stable_sort(track.begin(), track.end(),
                     [&](uint32_t a, uint32_t b) { return events[a].time_ns < events[b].time_ns; });
  }
  std::vector<PerfettoSlice> slices;
  std::vector<size_t> open;
  for (const uint32_t index : track) {
    const PerfettoEvent& event = events[index];
    if (event.type == Type::kEnd) {
      if (open.empty()) {
        ++stray_ends;
        continue;
      }
      slices[open.back()].end_ns = event.time_ns;
      slices[open.back()].finished = true;
      open.pop_back();
      continue;
    }
    const bool begins = event.type == Type::kBegin;
    if (begins) open.push_back(slices.size());
    slices.push_back(
        {index, event.time_ns, begins ? std::max(last_ns, event.time_ns) : event.time_ns, !begins});
  }
  return slices;
}

}  // namespace sonde::importers
