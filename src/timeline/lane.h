// One lane of the timeline: events that follow each other without overlapping, and an index over
// them that finds in logarithmic time what a part of time holds, however many events that is. So
// the cost of a picture depends on its pixels, not on the trace.
//
// The index: the sum of durations before every 64th event, and for blocks of 64 events, and above
// them for blocks of 8 blocks and so on, the longest event. About 0.3 bytes an event, to 20 of the
// event itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
  // A duration of 4.3 s or longer: kLong stands in its column.
  struct Long {
    uint64_t event = 0;
    int64_t duration_ns = 0;
  };
  static constexpr uint32_t kLong = UINT32_MAX;
  // The columns of a lane that lie elsewhere, such as in a file that is mapped.
  struct Columns {
    std::span<const int64_t> start_ns;
    std::span<const uint32_t> duration_ns, name, row;
    std::span<const Long> longs;       // by event
    std::span<const int64_t> sum_ns;   // before event 64 k
    std::span<const uint32_t> levels;  // the longest event of each block, level above level
  };

  Lane() = default;
  // `columns` must outlive the lane, and have an index unless finish() makes it.
  explicit Lane(const Columns& columns) : columns_(columns) {}
  Lane(Lane&&) = default;
  Lane& operator=(Lane&&) = default;

  // Events come by start, none before the end of the last one.
  void add(const Event& event);
  // Builds the index: once, after the last event.
  void finish();

  size_t size() const { return columns_.start_ns.size(); }
  const Columns& columns() const { return columns_; }
  Event event(size_t i) const;
  int64_t end_ns(size_t i) const { return columns_.start_ns[i] + duration_ns(i); }
  // The first event, at `from` or after it, that starts at `time_ns` or later. Cheap if it is near.
  size_t first_from(int64_t time_ns, size_t from = 0) const;
  // The event with this row, where rows ascend; kNoEvent if there is none.
  size_t with_row(uint32_t row) const;
  Content content(trace::Interval time) const;
  // The same where first_from() of both ends is known.
  Content content(trace::Interval time, size_t first, size_t end) const;

 private:
  int64_t duration_ns(size_t i) const {
    return columns_.duration_ns[i] == kLong ? long_ns(i) : int64_t{columns_.duration_ns[i]};
  }
  int64_t long_ns(size_t i) const;
  int64_t sum_before(size_t i) const;
  size_t longest(size_t first, size_t end) const;
  size_t longer(size_t a, size_t b) const;

  Columns columns_;
  // What was added, or made by finish(); columns_ refers to it.
  std::vector<int64_t> start_ns_, sum_ns_;
  std::vector<uint32_t> duration_ns_, name_, row_, levels_;
  std::vector<Long> longs_;
};

// How many entries the index of so many events has: Columns::sum_ns and Columns::levels.
size_t blocks_of(size_t events);
size_t level_entries_of(size_t events);

}  // namespace sonde::timeline
