#include "backends/cpu/thread_clock.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <unistd.h>

namespace sonde::cpu {
namespace {

uint64_t asked_ns() { return static_cast<uint64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID)); }

void sleep_ns(long ns) {
  const timespec pause = {0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

void expect_asked(ThreadClock& clock, const void* page) {
  const uint64_t before = asked_ns();
  const uint64_t now = clock.now_ns(page);
  EXPECT_GE(now, before);
  EXPECT_LE(now, asked_ns());
}

TEST(ThreadClock, TheKernelIsAskedWhereTheThreadHasLeftItsCpu) {
  perf_event_mmap_page page = {};
  page.lock = 4;
  ThreadClock clock;
  expect_asked(clock, nullptr);
  expect_asked(clock, &page);
  for (int i = 0; i < 3; ++i) {
    page.lock += 2;
    sleep_ns(1'000'000);
    expect_asked(clock, &page);
  }
  clock.forget();
  expect_asked(clock, &page);
  sleep_ns(25'000'000);
  expect_asked(clock, &page);  // the last reading is too old
}

TEST(ThreadClock, TimeIsCpuTimeWhereItHasNot) {
  perf_event_mmap_page page = {};
  ThreadClock clock;
  for (;;) {
    const int64_t begin_ns = monotonic_now_ns();
    const uint64_t before = clock.now_ns(&page);
    sleep_ns(1'000'000);  // the page does not show this
    const uint64_t after = clock.now_ns(&page);
    if (monotonic_now_ns() - begin_ns >= 15'000'000) {
      clock.forget();  // the machine is busy
      continue;
    }
    EXPECT_GE(after - before, 1'000'000u);
    return;
  }
}

TEST(ThreadClock, AnEventShowsThatItsThreadHasLeftItsCpu) {
  if (!events_work(1'000'000'000)) GTEST_SKIP() << "perf events are not permitted here";
  Event event = open_event(1'000'000'000, SIGURG);  // the signal is ignored
  ASSERT_NE(event.page, nullptr);
  for (int i = 0; i < 5; ++i) {
    const uint32_t turn = turn_of(event.page);
    sleep_ns(1'000'000);
    EXPECT_NE(turn_of(event.page), turn);
  }
  const void* const page = event.page;
  close_event_of_another(event);
  EXPECT_EQ(event.page, nullptr);
  EXPECT_EQ(turn_of(page), 0u) << "it is not the event's any more, and can be read";
}

}  // namespace
}  // namespace sonde::cpu
