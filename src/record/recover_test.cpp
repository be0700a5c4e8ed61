// When a process ended whose recorder was killed: by its last sign of life, whenever the recovery
// comes.
#include "record/liveness.h"

#include "base/time.h"
#include "record/drain_test_support.h"

namespace sonde::record {
namespace {

constexpr int64_t kPauseNs = 300'000'000;
constexpr const char* kEnd = "SELECT end_ns FROM sonde_process";

class RecoverTest : public DrainTest {
 protected:
  static void pause() { usleep(kPauseNs / 1000); }
  // Recovers after a while; returns when that began.
  int64_t recover_later() {
    close();
    pause();
    const int64_t now = monotonic_now_ns();
    const auto outcome = recover(session(), "");
    EXPECT_TRUE(outcome) << outcome.error().to_line();
    EXPECT_TRUE(outcome && outcome->left_running == 0);
    return now;
  }
  // A program that makes a mark, opens a range, does nothing for a while, and ends.
  pid_t start_lazy() {
    return start([](Agent agent) {
      agent->mark(0, 0, "once");
      agent->range_push(0, 0, "open");
      pause();
    });
  }
};

TEST_F(RecoverTest, AProcessEndsWithItsLastRecord) {
  const int64_t before = monotonic_now_ns();
  const pid_t child = start(marks(1, 100));
  wait_for(child);
  const int64_t after = monotonic_now_ns();
  recover_later();
  EXPECT_GE(value(kEnd), before);
  EXPECT_LE(value(kEnd), after);
  EXPECT_EQ(value("SELECT max(\"end\") FROM rocpd_api"), value(kEnd));
}

TEST_F(RecoverTest, ARecorderThatWatchedKnowsMoreThanTheRecords) {
  const pid_t child = start_lazy();
  int64_t watched = 0;
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    watched = monotonic_now_ns();
    drain_->poll();
    ASSERT_TRUE(drain_->commit(false));
    usleep(1000);
  }
  const int64_t after = monotonic_now_ns();
  recover_later();
  EXPECT_GE(value(kEnd), watched);
  EXPECT_LE(value(kEnd), after);
  // What was open ends with the process.
  EXPECT_EQ(
      value("SELECT \"end\" FROM rocpd_api WHERE id IN (SELECT api_id FROM sonde_unfinished)"),
      value(kEnd));
}

TEST_F(RecoverTest, AnEndThatWasNotStoredIsNotLaterThanItWas) {
  const pid_t child = start(marks(1, 100));
  drain_->poll();
  ASSERT_TRUE(drain_->commit(true));
  wait_for(child);
  const int64_t after = monotonic_now_ns();
  drain_->poll();
  for (const auto& live : drain_->live()) {
    ASSERT_TRUE(drain_->finish_process(live.spool, "exit 0"));
  }
  // The recorder goes on, but the end is not committed, as if a reader kept the trace locked.
  pause();
  drain_->poll();
  ASSERT_TRUE(drain_->commit(false));
  recover_later();
  EXPECT_LE(value(kEnd), after);
}

TEST_F(RecoverTest, AnotherBootHasOtherClocksAndProcesses) {
  const int64_t before = monotonic_now_ns();
  const pid_t child = start_lazy();
  while (wire::list_spools(session()).empty()) usleep(1000);
  pause();
  (*control_)->boot[0] ^= 1;
  const int64_t now = monotonic_now_ns();
  recover_later();
  waitpid(child, nullptr, 0);
  EXPECT_GE(value(kEnd), before);
  EXPECT_LE(value(kEnd), now);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_process WHERE exit = 'ended, recovered'"), 1);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_clock_snapshot WHERE process_id IS NULL"), 0);
}

TEST_F(RecoverTest, AProcessIsTheOneThatNamedTheSpool) {
  const auto own = static_cast<uint32_t>(::getpid());
  const auto now = static_cast<uint64_t>(monotonic_now_ns());
  Liveness liveness;
  // Without chunks, only its number and its age tell.
  EXPECT_TRUE(liveness.runs({now << 1 | 1, own, false, false}, true));
  EXPECT_FALSE(liveness.runs({now << 1 | 1, own, false, false}, false));
  EXPECT_FALSE(liveness.runs({now << 1 | 1, own, true, false}, true));
  EXPECT_FALSE(liveness.runs({uint64_t{1000} << 1 | 1, own, false, false}, true));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  pause();  // it is a zombie
  const auto later = static_cast<uint64_t>(monotonic_now_ns());
  EXPECT_FALSE(liveness.runs({later << 1 | 1, static_cast<uint32_t>(child), false, false}, true));
  wait_for(child);
}

}  // namespace
}  // namespace sonde::record
