#include "export/events/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "export/events/events.h"

namespace sonde::exporting {

namespace {

bool before(const Span& a, const Span& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.index < b.index;
}

// Finds a lane for each span of a sorted track. The first kStacks lanes take nested spans too. More
// lanes are only used when that many spans are open at once; they hold one span at a time, so that
// the one that frees first is found without looking at them all.
class LaneFinder {
 public:
  explicit LaneFinder(Nesting nesting) : stacks_(nesting == Nesting::kAllowed ? kStacks : 0) {}

  uint32_t place(const Span& span) {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      std::vector<int64_t>& open = stacks_[i];
      while (!open.empty() && open.back() <= span.start_ns) open.pop_back();
      if (open.empty() || (open.back() >= span.end_ns && open.size() < kMaxDepth)) {
        open.push_back(span.end_ns);
        return static_cast<uint32_t>(i);
      }
    }
    return place_in_single(span);
  }

 private:
  static constexpr size_t kStacks = 16;
  static constexpr size_t kMaxDepth = 500;  // Perfetto drops slices below its 512th level
  using EndAndLane = std::pair<int64_t, uint32_t>;
  using Soonest = std::priority_queue<EndAndLane, std::vector<EndAndLane>, std::greater<>>;
  using Lowest = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;

  uint32_t place_in_single(const Span& span) {
    while (!busy_.empty() && busy_.top().first <= span.start_ns) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    uint32_t lane = static_cast<uint32_t>(stacks_.size() + busy_.size());
    if (!free_.empty()) {
      lane = free_.top();
      free_.pop();
    }
    busy_.push({span.end_ns, lane});
    return lane;
  }

  std::vector<std::vector<int64_t>> stacks_;  // ends of the open spans, innermost last
  Soonest busy_;
  Lowest free_;
};

}  // namespace

void lay_out_track(uint32_t track, std::vector<Span>& spans, Nesting nesting, Layout& layout) {
  if (!std::is_sorted(spans.begin(), spans.end(), before)) {
    std::sort(spans.begin(), spans.end(), before);
  }
  LaneFinder finder(nesting);
  std::vector<uint32_t> lane_of(spans.size());
  uint32_t lane_count = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    lane_of[i] = finder.place(spans[i]);
    lane_count = std::max(lane_count, lane_of[i] + 1);
  }

  const uint32_t base = static_cast<uint32_t>(layout.order.size());
  std::vector<uint32_t> position(lane_count + 1, 0);
  for (const uint32_t lane : lane_of) ++position[lane + 1];
  for (uint32_t lane = 0; lane < lane_count; ++lane) position[lane + 1] += position[lane];
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    layout.lanes.push_back({track, lane, base + position[lane], base + position[lane + 1]});
  }
  layout.order.resize(base + spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    layout.order[base + position[lane_of[i]]++] = spans[i].index;
  }
}

Layout lay_out_calls(const Events& events) {
  return lay_out(events.apis, events.api_count(), events.threads.size(), Nesting::kAllowed,
                 [](const Api& api) { return api.thread; });
}

Layout lay_out_ops(const Events& events) {
  return lay_out(events.ops, events.ops.size(), events.queues.size(), Nesting::kNever,
                 [](const Op& op) { return op.queue; });
}

}  // namespace sonde::exporting
