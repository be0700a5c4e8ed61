// What the index says of parts of time, against a look at every event.
#include "timeline/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sonde::timeline {
namespace {

using trace::Interval;

struct Both {
  Lane lane;
  std::vector<Event> events;
};

Both random_lane(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  Both both;
  int64_t now_ns = static_cast<int64_t>(random() % 1000) - 500;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t kind = random() % 100;
    int64_t length_ns = kind < 20 ? 0 : static_cast<int64_t>(random() % 100);
    if (kind == 99) length_ns = 10'000'000'000;  // longer than 32 bits hold
    if (kind % 3 == 0) now_ns += static_cast<int64_t>(random() % (kind == 0 ? 100'000 : 50));
    both.events.push_back({now_ns, now_ns + length_ns, i % 7, i});
    both.lane.add(both.events.back());
    now_ns += length_ns;
  }
  both.lane.finish();
  return both;
}

int64_t inside_ns(const Event& event, Interval time) {
  return std::max<int64_t>(
      0, std::min(event.end_ns, time.end_ns) - std::max(event.start_ns, time.start_ns));
}

void expect_right(const Both& both, Interval time) {
  const Content content = both.lane.content(time);
  Content truth;
  int64_t most_ns = 0;
  for (const Event& event : both.events) {
    truth.count += event.start_ns >= time.start_ns && event.start_ns < time.end_ns ? 1 : 0;
    truth.busy_ns += inside_ns(event, time);
    most_ns = std::max(most_ns, inside_ns(event, time));
  }
  ASSERT_EQ(content.count, truth.count) << time.start_ns << " to " << time.end_ns;
  ASSERT_EQ(content.busy_ns, truth.busy_ns) << time.start_ns << " to " << time.end_ns;
  ASSERT_EQ(content.longest == kNoEvent, truth.count == 0 && truth.busy_ns == 0);
  if (content.longest != kNoEvent) {
    ASSERT_EQ(inside_ns(both.events[content.longest], time), most_ns);
  }
}

TEST(Lane, KnowsWhatAnyPartOfTimeHolds) {
  // Around the sizes at which the index gets another block and another level.
  for (const size_t count : {0, 1, 2, 63, 64, 65, 511, 512, 513, 4097, 40'000}) {
    const Both both = random_lane(static_cast<uint32_t>(count) + 1, count);
    std::mt19937_64 random(count);
    const int64_t begin_ns = count == 0 ? 0 : both.events.front().start_ns - 10;
    const int64_t span_ns = count == 0 ? 100 : both.events.back().end_ns + 20 - begin_ns;
    expect_right(both, {begin_ns, begin_ns + span_ns});
    for (int i = 0; i < (count > 1000 ? 150 : 600); ++i) {
      Interval time = {begin_ns + static_cast<int64_t>(random() % static_cast<uint64_t>(span_ns)),
                       begin_ns + static_cast<int64_t>(random() % static_cast<uint64_t>(span_ns))};
      if (count > 0 && i % 2 == 0) {  // between two near events, at their very edges
        const size_t at = random() % count;
        time.start_ns = i % 4 == 0 ? both.events[at].start_ns : both.events[at].end_ns;
        time.end_ns = both.events[std::min(count - 1, at + random() % 600)].end_ns - i % 3;
      }
      if (time.end_ns < time.start_ns) std::swap(time.start_ns, time.end_ns);
      ASSERT_NO_FATAL_FAILURE(expect_right(both, time)) << count << " events";
    }
  }
}

TEST(Lane, FindsTheFirstEventFromAnyPlace) {
  const Both both = random_lane(5, 3000);
  for (size_t from = 0; from < 3000; from += 7) {
    const int64_t time_ns = both.events[(from * 31) % 3000].start_ns;
    size_t truth = from;
    while (truth < 3000 && both.events[truth].start_ns < time_ns) ++truth;
    EXPECT_EQ(both.lane.first_from(time_ns, from), truth);
  }
}

TEST(Lane, KeepsEvents) {
  const Both both = random_lane(6, 2000);
  for (size_t i = 0; i < both.events.size(); ++i) {
    const Event event = both.lane.event(i);
    EXPECT_EQ(event.start_ns, both.events[i].start_ns);
    EXPECT_EQ(event.end_ns, both.events[i].end_ns);
    EXPECT_EQ(event.name, both.events[i].name);
    EXPECT_EQ(event.row, i);
  }
}

}  // namespace
}  // namespace sonde::timeline
