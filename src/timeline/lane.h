// One lane of the timeline: events that follow each other without overlapping, and an index over
// them that tells in logarithmic time what a part of time holds, however many events that is. So a
// picture costs by its pixels, not by the trace.
//
// The index: the sum of durations before every 64th event, and for blocks of 64 events, and above
// them for blocks of 8 blocks and so on, the longest event. About 0.3 bytes an event, to 20 of the
// event itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/intervals.h"

namespace sonde::timeline {

struct Event {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t name = 0;  // trace::NameId
  uint32_t row = 0;   // of the table that the track is of; kNoRow: of none
};
constexpr uint32_t kNoRow = UINT32_MAX;
constexpr size_t kNoEvent = SIZE_MAX;

// What a part of time holds.
struct Content {
  uint64_t count = 0;         // events that start in it
  int64_t busy_ns = 0;        // of it in which an event runs
  size_t longest = kNoEvent;  // the event that has most of it; kNoEvent: none runs or starts in it
};

class Lane {
 public:
  // Events come by start, none before the end of the last one.
  void add(const Event& event);
  // Builds the index: once, after the last event.
  void finish();

  size_t size() const { return start_ns_.size(); }
  Event event(size_t i) const;
  int64_t end_ns(size_t i) const { return start_ns_[i] + duration_ns(i); }
  // The first event, at `from` or after it, that starts at `time_ns` or later. Cheap if it is near.
  size_t first_from(int64_t time_ns, size_t from = 0) const;
  Content content(trace::Interval time) const;
  // The same where first_from() of both ends is known.
  Content content(trace::Interval time, size_t first, size_t end) const;

 private:
  int64_t duration_ns(size_t i) const {
    return duration_ns_[i] == kLong ? long_ns_.at(i) : int64_t{duration_ns_[i]};
  }
  int64_t sum_before(size_t i) const;
  size_t longest(size_t first, size_t end) const;
  size_t longer(size_t a, size_t b) const;

  static constexpr uint32_t kLong = UINT32_MAX;  // 4.3 s or longer: in long_ns_
  std::vector<int64_t> start_ns_;
  std::vector<uint32_t> duration_ns_, name_, row_;
  std::unordered_map<size_t, int64_t> long_ns_;
  std::vector<int64_t> sum_ns_;                // before event 64 k
  std::vector<std::vector<uint32_t>> levels_;  // the longest event of block k
};

}  // namespace sonde::timeline
