#include "export/events/viewer_numbers.h"

#include <gtest/gtest.h>

#include <set>

namespace sonde::exporting {
namespace {

constexpr int64_t kLargest = 0x7fffffff;

TEST(ViewerNumbers, MovesWhatDoesNotFitToFreeNumbers) {
  Events events;
  events.processes = {{7}, {-1}, {kLargest + 1}, {ViewerNumbers::kFirstFree}};
  events.threads = {{7, 7, ""},   {7, 0, ""},  {7, -5, ""}, {7, ViewerNumbers::kFirstFree, ""},
                    {-1, -1, ""}, {-1, 3, ""}, {0, 0, ""}};
  ViewerNumbers numbers(events);
  EXPECT_EQ(numbers.pid(7), 7);
  EXPECT_EQ(numbers.tid(7, 7), 7);
  EXPECT_EQ(numbers.tid(0, 0), 0);
  std::set<int64_t> pids = {7, ViewerNumbers::kFirstFree, numbers.pid(-1),
                            numbers.pid(kLargest + 1), numbers.free_pid()};
  EXPECT_EQ(pids.size(), 5u);
  EXPECT_EQ(numbers.pid(-1), numbers.pid(-1));
  std::set<int64_t> tids = {7, ViewerNumbers::kFirstFree, numbers.tid(7, 0), numbers.tid(7, -5),
                            numbers.free_tid(7)};
  EXPECT_EQ(tids.size(), 5u);
  for (const auto& all : {pids, tids}) {
    EXPECT_GT(*all.begin(), 0);
    EXPECT_LE(*all.rbegin(), kLargest);
  }
  // The main thread remains it, and no other becomes it.
  EXPECT_EQ(numbers.tid(-1, -1), numbers.pid(-1));
  EXPECT_EQ(numbers.tid(-1, 3), 3);
  EXPECT_NE(numbers.free_tid(-1), numbers.pid(-1));
}

}  // namespace
}  // namespace sonde::exporting
