#include "export/events/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sonde::exporting {
namespace {

struct Event {
  int64_t start_ns, end_ns;
  uint32_t track = 0;
};

Layout lay_out_events(const std::vector<Event>& events, Nesting nesting, size_t tracks = 1) {
  return lay_out(events, events.size(), tracks, nesting, [](const Event& e) { return e.track; });
}

TEST(Lanes, NestedCallsShareALane) {
  const Layout layout =
      lay_out_events({{10, 20}, {0, 100}, {12, 15}, {20, 100}}, Nesting::kAllowed);
  ASSERT_EQ(layout.lanes.size(), 1u);
  EXPECT_EQ(layout.order, (std::vector<uint32_t>{1, 0, 2, 3}));
}

TEST(Lanes, PartialOverlapMovesToTheNextLane) {
  const Layout layout = lay_out_events({{0, 100}, {50, 150}, {100, 120}}, Nesting::kAllowed);
  ASSERT_EQ(layout.lanes.size(), 2u);
  EXPECT_EQ(layout.order, (std::vector<uint32_t>{0, 2, 1}));
}

TEST(Lanes, OperationsNeverNest) {
  const Layout layout = lay_out_events({{0, 100}, {10, 20}, {20, 30}, {100, 100}}, Nesting::kNever);
  ASSERT_EQ(layout.lanes.size(), 2u);
  EXPECT_EQ(layout.order, (std::vector<uint32_t>{0, 3, 1, 2}));
}

TEST(Lanes, VeryDeepNestingGoesOnBesides) {
  std::vector<Event> events;
  for (int i = 0; i < 1200; ++i) events.push_back({i, 10000 - i});
  const Layout layout = lay_out_events(events, Nesting::kAllowed);
  ASSERT_EQ(layout.lanes.size(), 3u);
  for (const Lane& lane : layout.lanes) EXPECT_LE(lane.end - lane.begin, 500u);
}

TEST(Lanes, TracksStayApart) {
  const Layout layout =
      lay_out_events({{0, 100, 2}, {50, 150, 0}, {0, 10, 2}}, Nesting::kAllowed, 4);
  ASSERT_EQ(layout.lanes.size(), 2u);
  EXPECT_EQ(layout.lanes[0].track, 0u);
  EXPECT_EQ(layout.lanes[1].track, 2u);
  EXPECT_EQ(layout.order, (std::vector<uint32_t>{1, 0, 2}));
}

// Every lane of a layout must hold what a viewer can stack, and every event exactly once.
void check(const std::vector<Event>& events, const Layout& layout, Nesting nesting) {
  std::vector<int> seen(events.size(), 0);
  for (const Lane& lane : layout.lanes) {
    ASSERT_LT(lane.begin, lane.end);
    std::vector<int64_t> open;
    int64_t last = INT64_MIN;
    for (uint32_t i = lane.begin; i < lane.end; ++i) {
      const Event& event = events[layout.order[i]];
      ++seen[layout.order[i]];
      EXPECT_EQ(event.track, lane.track);
      EXPECT_LE(last, event.start_ns);
      last = event.start_ns;
      while (!open.empty() && open.back() <= event.start_ns) open.pop_back();
      EXPECT_TRUE(open.empty() || (nesting == Nesting::kAllowed && event.end_ns <= open.back()));
      open.push_back(event.end_ns);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(events.size()));
}

TEST(Lanes, RandomEventsFitOnTheirLanes) {
  std::mt19937_64 random(7);
  for (const int64_t longest : {3, 40, 2000}) {
    std::vector<Event> events;
    for (int i = 0; i < 3000; ++i) {
      const int64_t start = static_cast<int64_t>(random() % 4000);
      const int64_t length = static_cast<int64_t>(random()) % longest;
      events.push_back({start, start + std::abs(length), static_cast<uint32_t>(random() % 3)});
    }
    for (const Nesting nesting : {Nesting::kAllowed, Nesting::kNever}) {
      check(events, lay_out_events(events, nesting, 3), nesting);
    }
  }
}

}  // namespace
}  // namespace sonde::exporting
