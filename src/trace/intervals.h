// The algebra of time intervals that every analysis stands on. Intervals are half-open [start, end)
// in integer nanoseconds; an empty one (end <= start) covers nothing. A Set is sorted, disjoint,
// not touching and without empty intervals; normalise() makes one, and every operation takes and
// returns Sets in linear time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sonde::trace {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Makes `extent` reach from the first start to the last end of all that it is given.
void extend(std::optional<Interval>& extent, Interval more);

using IntervalSet = std::vector<Interval>;

// The union of any intervals, in place. Linear when they are sorted by start already.
void normalise(std::vector<Interval>& intervals);

IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet clip(const IntervalSet& set, Interval window);
// What of the window the set leaves free.
IntervalSet gaps(const IntervalSet& set, Interval window);
int64_t length_ns(std::span<const Interval> set);

// A part of time in which the same Sets cover: bit k of `mask` is set if set k does.
struct Segment {
  Interval time;
  uint32_t mask = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};
// Cuts time at every edge of up to 32 Sets. Parts that no set covers are left out.
std::vector<Segment> sweep(std::span<const IntervalSet> sets);

}  // namespace sonde::trace
