// The drain and the recovery with the real agent, in child processes: what the children count in
// shared memory must be in the file.
#include "record/drain.h"

#include <signal.h>

#include <algorithm>
#include <fstream>

#include "base/time.h"
#include "record/drain_test_support.h"

namespace sonde::record {
namespace {

TEST_F(DrainTest, ReadsWhileTheProgramWrites) {
  const int64_t before = monotonic_now_ns();
  const pid_t child = start(marks(4, 60'000, 2000));
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    drain_->poll();
    ASSERT_TRUE(drain_->commit(true));
    usleep(2000);
  }
  end("exit 0");
  for (int t = 0; t < 4; ++t) EXPECT_EQ(rows("t" + std::to_string(t)), 60'000);
  EXPECT_EQ(lost(), 0);
  EXPECT_EQ(value("SELECT count(*) FROM rocpd_api WHERE start < " + std::to_string(before) +
                  " OR end > " + std::to_string(monotonic_now_ns())),
            0);
  EXPECT_EQ((*control_)->allocated_bytes, 0u);
  EXPECT_TRUE(wire::list_spools(session()).empty());
}

// Each call has a function of its own with a long name, so that definitions fill a chunk every
// hundred calls: an event must never be read before the newest chunk of definitions. A second
// folder with many files delays the reading of the first one after its listing.
TEST_F(DrainTest, NamesAreThereForEventsThatAreJustMade) {
  constexpr int kCalls = 10'000;
  const std::string crowd = session() + "/p1-7fffffffffffffff/";
  fs::create_directory(crowd);
  for (int i = 0; i < 3000; ++i) std::ofstream(crowd + "r1-" + std::to_string(i));
  const pid_t child = start([](Agent agent) {
    std::string name(2000, 'n');
    for (int i = 0; i < kCalls; ++i) {
      name.replace(0, 5, std::to_string(10'000 + i));
      const uint32_t function = agent->define_function("d", "c", name.c_str(), "");
      sonde_call call = agent->call_begin(function, 0);
      agent->call_end(&call, 0, nullptr, 0);
    }
  });
  while (waitpid(child, nullptr, WNOHANG) == 0) drain_->poll();
  end();
  EXPECT_EQ(value("SELECT count(*) FROM api WHERE length(apiName) = 2000"), kCalls);
}

TEST_F(DrainTest, ChunksGoRoundOrAreLetGo) {
  for (const bool slow : {false, true}) {
    fresh();
    // The child pauses after each 5,000 marks until they are drained, or fills its chunks at once.
    const pid_t child = start([&](Agent agent) {
      for (int64_t i = 1; i <= 400'000; ++i) {
        agent->mark(0, 0, "round");
        progress_->marks[0] = i;
        while (!slow && i - progress_->marks[1] >= 5000) usleep(100);
      }
    });
    while (slow && progress_->marks[0] < 390'000) usleep(1000);
    uint64_t most = 0;
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      const int64_t made = progress_->marks[0];
      drain_->poll();
      ASSERT_TRUE(drain_->commit(true));
      progress_->marks[1] = made;
      most = std::max(most, drain_->spool_bytes());
    }
    end();
    EXPECT_EQ(rows("round"), 400'000);
    EXPECT_EQ(lost(), 0);
    EXPECT_EQ((*control_)->allocated_bytes, 0u);
    if (!slow) {
      EXPECT_LT(most, 10 * wire::kChunkBytes);
    }
  }
}

TEST_F(DrainTest, AKilledProgramLosesNothingItHadMade) {
  for (int round = 0; round < 20; ++round) {
    fresh();
    const pid_t child = start(marks(3, int64_t{1} << 40, 1000));
    const int64_t end_at = monotonic_now_ns() + 1'000'000 * static_cast<int64_t>(random_() % 40);
    while (monotonic_now_ns() < end_at || progress_->marks[0] == 0) {
      if (round % 2 == 0) drain_->poll();
      if (round % 4 == 0) {
        ASSERT_TRUE(drain_->commit(true));
      }
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    end("signal 9");
    for (int t = 0; t < 3; ++t) {
      const int64_t made = rows("t" + std::to_string(t));
      EXPECT_GE(made, progress_->marks[t]) << round;
      EXPECT_LE(made, progress_->marks[t] + 1) << round;
    }
    EXPECT_EQ(lost(), 0) << round;
  }
}

TEST_F(DrainTest, WhatAKilledProgramWasDoingIsNoted) {
  const pid_t child = start([&](Agent agent) {
    agent->range_push(0, 0, "outer");
    agent->range_push(0, 0, "inner");
    agent->range_start(0, 0, "started");
    for (int i = 0; i < 30'000; ++i) agent->mark(0, 0, "filler");
    progress_->marks[0] = 1;
    pause();
  });
  while (progress_->marks[0] == 0) usleep(1000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  end("signal 9");
  for (const char* text : {"outer", "inner", "started"}) EXPECT_EQ(rows(text), 1);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_unfinished"), 3);
}

TEST_F(DrainTest, RecoveryGoesOnWhereTheRecorderWasKilled) {
  for (int round = 0; round < 12; ++round) {
    fresh();
    const int64_t before = monotonic_now_ns();
    const int64_t count = 5'000 + static_cast<int64_t>(random_() % 40'000);
    const pid_t child = start(marks(2, count, 3000));
    // Recorders that are killed at random moments, one after the other.
    for (int recorder = round % 4; recorder > 0; --recorder) {
      for (auto polls = random_() % 8; polls > 0; --polls) {
        drain_->poll();
        if (random_() % 2 == 0) {
          ASSERT_TRUE(drain_->commit(random_() % 2 == 0));
        }
        usleep(static_cast<useconds_t>(random_() % 5000));
      }
      crash();
      begin(store::Writer::Mode::kAppend);
    }
    wait_for(child);
    close();
    if (round % 5 == 4) fs::remove(trace());  // killed before it had made a trace
    const auto outcome = recover(session(), "");
    ASSERT_TRUE(outcome) << outcome.error().to_line();
    if (round % 5 != 4 || round % 4 == 0) {
      for (const char* text : {"t0", "t1"}) EXPECT_EQ(rows(text), count) << round;
    }
    EXPECT_EQ(lost(), 0) << round;
    EXPECT_EQ(value("SELECT count(*) FROM rocpd_api WHERE start < " + std::to_string(before) +
                    " OR end > " + std::to_string(monotonic_now_ns())),
              0)
        << round;
    EXPECT_FALSE(fs::exists(session()));
  }
}

TEST_F(DrainTest, DropsAreCountedExactly) {
  for (const bool drained : {false, true}) {
    fresh(5 * wire::kChunkBytes);
    const pid_t child = start(marks(3, 40'000));
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      if (drained) {
        drain_->poll();
        ASSERT_TRUE(drain_->commit(true));
      }
      usleep(10'000);
    }
    end();
    const int64_t made = value("SELECT count(*) FROM rocpd_api");
    EXPECT_TRUE(drained || lost() > 0);
    EXPECT_EQ(made + lost(), 3 * 40'000);
  }
}

TEST_F(DrainTest, WithoutAReaderAProgramKeepsToItsRoom) {
  fresh(uint64_t{1} << 30, 2 << 20);
  const pid_t child = start(marks(2, int64_t{1} << 40, 2000));
  while (progress_->marks[0] == 0 || progress_->marks[1] == 0) usleep(1000);
  drain_->poll();
  EXPECT_EQ((*control_)->orphaned, 0u);
  close();
  // Chunks that the program could make before it noticed the closing do not count; how many depends
  // on the load. Each thread may have taken one more chunk before it noticed.
  const uint64_t before = bytes_on_disk();
  usleep(800'000);  // more than 2 MiB are made meanwhile
  EXPECT_LE(bytes_on_disk(), before + (2u << 20) + 2 * wire::kMaxChunkBytes);
  progress_->stop = true;
  wait_for(child);
  const auto outcome = recover(session(), "");
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_GT(lost(), 0);
  EXPECT_EQ(rows("t0") + rows("t1") + lost(), progress_->marks[0] + progress_->marks[1]);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_drop WHERE reason <> 'recorder gone and its space "
                  "used up'"),
            0);
}

TEST_F(DrainTest, OfAFinishedTraceOnlyTheSessionIsLeftToRemove) {
  const pid_t child = start(marks(1, 100));
  wait_for(child);
  end();
  close();  // like a recorder that is killed before it has removed the session
  ASSERT_TRUE(fs::exists(session() + "/control"));
  const auto outcome = recover(session(), "");
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_EQ(outcome->apis, 100u);
  EXPECT_EQ(rows("t0"), 100);
  EXPECT_EQ(value("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), 1);
  EXPECT_FALSE(fs::exists(session()));
}

}  // namespace
}  // namespace sonde::record
