#include "wire/session.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "base/time.h"

namespace sonde::wire {
namespace {

namespace fs = std::filesystem;

class Session : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(Session, OneRecorderAtATime) {
  auto first = Control::create(folder_, {.limit_bytes = 123, .autostart = false});
  ASSERT_TRUE(first) << first.error().to_line();
  EXPECT_EQ((*first)->limit_bytes, 123u);
  EXPECT_EQ((*first)->autostart, 0u);
  EXPECT_FALSE(Control::create(folder_, {}));
  EXPECT_FALSE(Control::open(folder_));  // still held
  *first = Control();
  EXPECT_TRUE(Control::open(folder_));
}

TEST_F(Session, WhatIsNoSessionIsRefused) {
  EXPECT_FALSE(Control::open(folder_));
  std::ofstream(folder_ / "control") << "short";
  EXPECT_FALSE(Control::open(folder_));
  std::ofstream(folder_ / "control") << std::string(sizeof(SessionControl), 'x');
  const auto opened = Control::open(folder_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().to_line().find("another version"), std::string::npos);
}

TEST_F(Session, IsReadByWhoeverHasItsControlFile) {
  EXPECT_FALSE(is_being_read(folder_));
  {
    const auto control = Control::create(folder_, {});
    ASSERT_TRUE(control);
    EXPECT_TRUE(is_being_read(folder_));
    EXPECT_FALSE(Control::open(folder_));
    EXPECT_TRUE(is_being_read(folder_));  // asking has not taken the lock
  }
  EXPECT_FALSE(is_being_read(folder_));
  const auto control = Control::open(folder_);
  ASSERT_TRUE(control);
  EXPECT_TRUE(is_being_read(folder_));
}

TEST_F(Session, IsForItsOwnerAlone) {
  const mode_t before = ::umask(0);
  const auto control = Control::create(folder_, {});
  ::umask(before);
  ASSERT_TRUE(control);
  EXPECT_EQ(fs::status(folder_ / "control").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Session, OnlyProperNamesAreListed) {
  for (const char* name : {"p12-ff", "p13-1", "px-1", "p-1", "q12-1", "p12-xyz", "other"}) {
    fs::create_directory(folder_ / name);
  }
  const auto spools = list_spools(folder_);
  ASSERT_EQ(spools.size(), 2u);
  EXPECT_EQ(spools[0].pid, 13u);  // in the order of their making
  EXPECT_EQ(spools[1].spool, 0xffu);
  for (const char* name : {"r2-0", "r1-10", "r1-9", "r1-x", "junk"}) {
    std::ofstream(folder_ / "p12-ff" / name) << "";
  }
  const auto chunks = list_chunks(folder_ / "p12-ff");
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].file, 9u);
  EXPECT_EQ(chunks[1].file, 10u);
  EXPECT_EQ(chunks[2].ring, 2u);
}

TEST(Clock, ReadingsAreNarrow) {
  const auto reading = read_clocks_exactly(ClockKind::kMonotonic);
  EXPECT_LE(reading.ticks_before, static_cast<uint64_t>(reading.monotonic_ns));
  EXPECT_GE(reading.ticks_after, static_cast<uint64_t>(reading.monotonic_ns));
}

void lose_30_us(int) {
  const int64_t end = clock_ns(CLOCK_MONOTONIC) + 30'000;
  while (clock_ns(CLOCK_MONOTONIC) < end) {
  }
}

// The thread is interrupted again and again while it reads.
TEST(Clock, AllClocksAreOfOneMoment) {
  struct sigaction stop = {}, before = {};
  stop.sa_handler = lose_30_us;
  sigaction(SIGALRM, &stop, &before);
  const itimerval often = {{0, 150}, {0, 150}};
  setitimer(ITIMER_REAL, &often, nullptr);
  int64_t least = INT64_MAX, most = INT64_MIN;  // that CLOCK_BOOTTIME is ahead
  const int64_t end = clock_ns(CLOCK_MONOTONIC) + 300'000'000;
  while (clock_ns(CLOCK_MONOTONIC) < end) {
    const auto reading = read_clocks_exactly(ClockKind::kMonotonic);
    least = std::min(least, reading.boottime_ns - reading.monotonic_ns);
    most = std::max(most, reading.boottime_ns - reading.monotonic_ns);
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_LT(most - least, 20'000);
}

}  // namespace
}  // namespace sonde::wire
