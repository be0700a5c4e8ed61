// What each GPU did when, as interval sets by category: what breakdown, overlap and idle begin
// with.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "report/report.h"
#include "trace/intervals.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct GpuTime {
  std::array<trace::IntervalSet, trace::kCategories> sets;  // by Category; normalised
  trace::Interval extent;       // first start to last end of its operations, or the window
  std::set<int32_t> processes;  // whose operations ran on it, as far as is known
  std::optional<int64_t> rank;  // of its process, if it has only one
};

// Adds an interval that starts no earlier than all before it; the set stays normalised, and small
// where operations overlap or touch.
inline void extend(trace::IntervalSet& set, trace::Interval interval) {
  if (interval.end_ns <= interval.start_ns) return;
  if (set.empty() || interval.start_ns > set.back().end_ns) {
    set.push_back(interval);
  } else if (interval.end_ns > set.back().end_ns) {
    set.back().end_ns = interval.end_ns;
  }
}

// The length of the union of intervals that come sorted by start.
struct UnionLength {
  int64_t length_ns = 0;
  int64_t until_ns = std::numeric_limits<int64_t>::min();
  void add(trace::Interval interval) {
    const int64_t start_ns = std::max(interval.start_ns, until_ns);
    if (interval.end_ns <= start_ns) return;
    length_ns += interval.end_ns - start_ns;
    until_ns = interval.end_ns;
  }
};

// How much of the time before each moment a set covers.
class CoveredTime {
 public:
  explicit CoveredTime(trace::IntervalSet set);
  int64_t in(trace::Interval time) const { return until(time.end_ns) - until(time.start_ns); }

 private:
  int64_t until(int64_t time_ns) const;
  trace::IntervalSet set_;
  std::vector<int64_t> before_ns_;  // by interval
};

// By GPU.
std::map<int64_t, GpuTime> gpu_times(const trace::Trace& trace);

// When any operation ran.
trace::IntervalSet busy_set(const GpuTime& gpu);
int64_t busy_ns(const GpuTime& gpu);

report::Value rank_value(const GpuTime& gpu);

// Time by category: time in which several categories run counts as the first of them.
struct Breakdown {
  int64_t total_ns = 0;
  std::array<int64_t, trace::kCategories> exposed_ns{};
  int64_t idle_ns = 0;
};
// The breakdown of a window, from the segments of sweep(GpuTime::sets), whose bits are categories.
Breakdown breakdown_of(const std::vector<trace::Segment>& segments, trace::Interval window);

}  // namespace sonde::analysis
