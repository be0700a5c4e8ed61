// When a process ended that nobody watched.
#include <gtest/gtest.h>

#include <optional>

#include "sonde/backend.h"
#include "store/ingest/ingest.h"
#include "store/ingest/ingest_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;
constexpr uint64_t kSpool = 0xabc;
constexpr int64_t kLate = 3'000'000'000;
const auto kDefinitions = ring(kSpool, 100, 0);
const auto kRing = ring(kSpool, 100, 1, 101);
const auto kNothing = std::optional<int64_t>();

class EndTest : public ::testing::Test {
 protected:
  void define() { ASSERT_TRUE(feed(*file, kDefinitions, some_definitions())); }
  // As a recovery does, after the recorder was killed.
  void recover() {
    file.restore();
    file->clocks(reading(kLate));
    define();
  }
  Recording file{1000, 2'000'000'000};
};

TEST_F(EndTest, EveryKindOfRecordIsASign) {
  define();
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), 500);  // its start
  const struct {
    Words words;
    int64_t ns;
  } signs[] = {{thread(101, at(600), "main"), 600},  {mark(10, at(800)), 800},
               {call(5, at(810), at(820)), 820},     {range(10, at(700), at(900)), 900},
               {range_start(10, at(1000), 1), 1000}, {range_stop(at(1100), 1), 1100},
               {counter(10, at(1200), 2.5), 1200},   {mark(10, at(1100)), 1200},
               {op(6, kernel(0, 1250, 1300)), 1300}, {call(5, at(1), at(2)), 1300}};
  for (const auto& sign : signs) {
    ASSERT_TRUE(feed(*file, kRing, sign.words));
    EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), sign.ns);
  }
}

TEST_F(EndTest, SignsOutliveTheRecorder) {
  define();
  ASSERT_TRUE(feed(*file, kRing, mark(10, at(800))));
  for (int i = 0; i < 3; ++i) recover();
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), 800);
  file->alive_at_ticks(kSpool, at(900));
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), 900);
  file->alive_at(kSpool, 1000);
  file->alive_at(kSpool, 990);
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), 1000);
}

TEST_F(EndTest, NothingIsLaterThanTheRecovery) {
  define();
  ASSERT_TRUE(feed(*file, kRing, mark(10, at(800)) + mark(10, at(2'000'000'001))));
  file->alive_at_ticks(kSpool, ~uint64_t{0} - 1);  // out of a damaged header
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), 800);
  file->alive_at(kSpool, kLate + 5);
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), kLate);
  EXPECT_EQ(file->end_by_last_sign(kSpool, 850), 850);
}

TEST_F(EndTest, WhatIsOpenEndsWithItsProcess) {
  define();
  ASSERT_TRUE(feed(*file, kRing, range_start(10, at(600), 1)));
  recover();
  const auto end_ns = file->end_by_last_sign(kSpool, kLate);
  ASSERT_EQ(end_ns, 600);
  file->alive_at_ticks(kSpool, at(700));
  ASSERT_EQ(file->end_by_last_sign(kSpool, kLate), 700);
  file->unfinished(kRing, wire::OpenCall{at(650), 5, 1});
  file->ended(kSpool, 700, "ended, recovered");
  file.finish();
  EXPECT_EQ(file.rows("select start, end from rocpd_api order by start"),
            (Rows{"600|700", "650|700"}));
  EXPECT_EQ(file.value("select start_ns, end_ns, exit from sonde_process"),
            "500|700|ended, recovered");
}

TEST_F(EndTest, AnEndThatNobodyKnowsIsNull) {
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), kNothing);
  ASSERT_TRUE(feed(*file, kDefinitions, string(1, "test")));  // the process' record was damaged
  EXPECT_EQ(file->end_by_last_sign(kSpool, kLate), kNothing);
  ASSERT_TRUE(feed(*file, kRing, range_start(10, at(600), 1)));
  file->ended(kSpool, std::nullopt, "ended, recovered");
  file.finish();
  EXPECT_EQ(file.value("select end_ns is null, exit from sonde_process"), "1|ended, recovered");
  EXPECT_EQ(file.value("select start, end from rocpd_api"), "600|600");
}

TEST_F(EndTest, AReadingAfterASleepOrAnotherBootDoesNotFollow) {
  EXPECT_TRUE(file->follows(reading(kLate)));
  auto slept = reading(kLate);
  slept.boottime_ns += 60'000'000'000;
  EXPECT_FALSE(file->follows(slept));
  EXPECT_FALSE(file->follows(reading(1'000'000'000)));  // its clock is behind
  file.restore();
  EXPECT_FALSE(file->follows(slept));
  EXPECT_EQ(file->monotonic_of_realtime(kLate + 5000), kLate);
  Recording fresh;
  EXPECT_TRUE(fresh->follows(slept));
  EXPECT_EQ(fresh->monotonic_of_realtime(5), kNothing);
}

}  // namespace
}  // namespace sonde::store
