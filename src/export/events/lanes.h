// Lanes: viewers draw the slices of one track as a stack, so two slices of a track must either nest
// or not touch; where they overlap otherwise, a viewer shows wrong durations or drops one of them.
// lay_out() sorts events by (track, lane, start, longest first) and moves an event that does not
// fit to another lane of its track. Lane 0 holds nearly all events of real traces.
// Used by both exporters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::exporting {

struct Events;

struct Span {
  int64_t start_ns, end_ns;
  uint32_t index;  // of the event
};

enum class Nesting {
  kAllowed,  // calls within calls
  kNever     // operations of a queue: overlapping ones always stand side by side
};

struct Lane {
  uint32_t track, lane;
  uint32_t begin, end;  // range of Layout::order
};

struct Layout {
  std::vector<uint32_t> order;  // indices of the events
  std::vector<Lane> lanes;      // ascending (track, lane); only lanes that hold something
};

// `spans` are the events of one track, in any order; appends its lanes.
void lay_out_track(uint32_t track, std::vector<Span>& spans, Nesting nesting, Layout& layout);

// track_of(event) < track_count.
template <typename Event, typename TrackOf>
Layout lay_out(const std::vector<Event>& events, size_t count, size_t track_count, Nesting nesting,
               TrackOf track_of) {
  std::vector<uint32_t> ends(track_count + 1, 0);
  for (size_t i = 0; i < count; ++i) ++ends[track_of(events[i]) + 1];
  for (size_t t = 0; t < track_count; ++t) ends[t + 1] += ends[t];
  std::vector<uint32_t> by_track(count);
  for (size_t i = 0; i < count; ++i) {
    by_track[ends[track_of(events[i])]++] = static_cast<uint32_t>(i);
  }
  Layout layout;
  layout.order.reserve(count);
  std::vector<Span> spans;
  size_t begin = 0;
  for (size_t t = 0; t < track_count; ++t) {
    spans.clear();
    for (; begin < ends[t]; ++begin) {
      const Event& event = events[by_track[begin]];
      spans.push_back({event.start_ns, event.end_ns, by_track[begin]});
    }
    if (!spans.empty()) lay_out_track(static_cast<uint32_t>(t), spans, nesting, layout);
  }
  return layout;
}

// The calls of each thread, and the operations of each queue.
Layout lay_out_calls(const Events& events);
Layout lay_out_ops(const Events& events);

}  // namespace sonde::exporting
