#include "trace/intervals.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sonde::trace {
namespace {

void append(IntervalSet& set, int64_t start_ns, int64_t end_ns) {
  if (end_ns <= start_ns) return;
  if (!set.empty() && start_ns <= set.back().end_ns) {
    set.back().end_ns = std::max(set.back().end_ns, end_ns);
  } else {
    set.push_back({start_ns, end_ns});
  }
}

}  // namespace

void extend(std::optional<Interval>& extent, Interval more) {
  if (!extent) extent = more;
  extent->start_ns = std::min(extent->start_ns, more.start_ns);
  extent->end_ns = std::max(extent->end_ns, more.end_ns);
}

void normalise(std::vector<Interval>& intervals) {
  const auto by_start = [](const Interval& a, const Interval& b) {
    return a.start_ns < b.start_ns;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  size_t used = 0;
  for (const Interval interval : intervals) {
    if (interval.end_ns <= interval.start_ns) continue;
    if (used != 0 && interval.start_ns <= intervals[used - 1].end_ns) {
      intervals[used - 1].end_ns = std::max(intervals[used - 1].end_ns, interval.end_ns);
    } else {
      intervals[used++] = interval;
    }
  }
  intervals.resize(used);
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  out.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    const Interval next = take_a ? a[i++] : b[j++];
    append(out, next.start_ns, next.end_ns);
  }
  return out;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    append(out, std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns));
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  size_t j = 0;
  for (const Interval& from : a) {
    int64_t start_ns = from.start_ns;
    while (j < b.size() && b[j].end_ns <= start_ns) ++j;
    for (size_t k = j; k < b.size() && b[k].start_ns < from.end_ns; ++k) {
      append(out, start_ns, std::min(b[k].start_ns, from.end_ns));
      start_ns = std::max(start_ns, b[k].end_ns);
      j = k;  // an interval of b may reach into the next one of a
    }
    append(out, start_ns, from.end_ns);
  }
  return out;
}

IntervalSet clip(const IntervalSet& set, Interval window) {
  if (window.end_ns <= window.start_ns) return {};
  return intersect(set, {window});
}

IntervalSet gaps(const IntervalSet& set, Interval window) {
  if (window.end_ns <= window.start_ns) return {};
  return subtract({window}, set);
}

int64_t length_ns(std::span<const Interval> set) {
  int64_t length = 0;
  for (const Interval& interval : set) length += interval.end_ns - interval.start_ns;
  return length;
}

std::vector<Segment> sweep(std::span<const IntervalSet> sets) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  SONDE_CHECK(sets.size() <= 32);
  std::vector<Segment> segments;
  size_t most = 0;  // unless they overlap
  for (const IntervalSet& set : sets) most += set.size();
  segments.reserve(most);
  std::vector<size_t> next(sets.size(), 0);  // the interval of each set that is or will be open
  uint32_t mask = 0;
  int64_t since_ns = 0;
  for (;;) {
    int64_t edge_ns = kNever;
    for (size_t k = 0; k < sets.size(); ++k) {
      if (next[k] == sets[k].size()) continue;
      const Interval& interval = sets[k][next[k]];
      edge_ns = std::min(edge_ns, (mask >> k & 1) != 0 ? interval.end_ns : interval.start_ns);
    }
    if (mask != 0) segments.push_back({{since_ns, edge_ns}, mask});
    if (edge_ns == kNever) return segments;
    for (size_t k = 0; k < sets.size(); ++k) {
      if (next[k] == sets[k].size()) continue;
      if ((mask >> k & 1) != 0 && sets[k][next[k]].end_ns == edge_ns) {
        mask &= ~(1u << k);
        ++next[k];
      } else if ((mask >> k & 1) == 0 && sets[k][next[k]].start_ns == edge_ns) {
        mask |= 1u << k;
      }
    }
    since_ns = edge_ns;
  }
}

}  // namespace sonde::trace
