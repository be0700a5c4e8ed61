// Which lane of its track an event gets, and when a GPU is busy. Private to src/timeline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "trace/intervals.h"

namespace sonde::timeline {

// Gives each event, which come by start, the first lane that is free. Where events lie within each
// other, as calls do, that is their depth.
class LaneChoice {
 public:
  size_t lane_of(trace::Interval time) {
    while (!running_.empty() && running_.top().first <= time.start_ns) {
      free_.insert(running_.top().second);
      running_.pop();
    }
    size_t lane = lanes_;
    if (free_.empty()) {
      ++lanes_;
    } else {
      lane = *free_.begin();
      free_.erase(free_.begin());
    }
    running_.emplace(time.end_ns, lane);
    return lane;
  }
  size_t lanes() const { return lanes_; }

 private:
  using Running = std::pair<int64_t, size_t>;  // until when, in which lane
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::set<size_t> free_;
  size_t lanes_ = 0;
};

// The union of intervals that come by start: gives each part of it as soon as it has ended.
class Union {
 public:
  std::optional<trace::Interval> add(trace::Interval time) {
    if (time.end_ns <= time.start_ns) return {};
    if (open_ && time.start_ns <= open_->end_ns) {
      open_->end_ns = std::max(open_->end_ns, time.end_ns);
      return {};
    }
    return std::exchange(open_, time);
  }
  // The last part, after all intervals.
  std::optional<trace::Interval> finish() { return std::exchange(open_, {}); }

 private:
  std::optional<trace::Interval> open_;
};

}  // namespace sonde::timeline
