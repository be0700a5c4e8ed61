// When a process ended whose recorder was killed: by its last sign of life, whenever the recovery
// comes. And which file the recovery goes on with.
#include "record/liveness.h"

#include <fstream>
#include <iterator>

#include "base/time.h"
#include "record/drain_test_support.h"
#include "record/metrics.h"

namespace sonde::record {
namespace {

constexpr int64_t kPauseNs = 300'000'000;
constexpr int64_t kMarks = 200'000;
constexpr const char* kEnd = "SELECT end_ns FROM sonde_process";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
  // A program whose recorder is killed when it has stored half of the marks, and has given chunks
  // back, which were used again.
  void record_in_part() {
    constexpr int64_t kAhead = 5000;
    std::atomic<int64_t>&made = progress_->marks[0], &stored = progress_->marks[1];
    const pid_t child = start([&](Agent agent) {
      for (int64_t i = 1; i <= kMarks; ++i) {
        agent->mark(0, 0, "t0");
        made = i;
        while (i <= kMarks / 2 && i - stored >= kAhead) usleep(100);
      }
    });
    while (stored < kMarks / 2 - kAhead) {
      const int64_t before = made;
      drain_->poll();
      ASSERT_TRUE(drain_->commit(true));
      stored = before;
    }
    stored = kMarks;
    close();
    wait_for(child);
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

TEST_F(RecoverTest, ATraceThatWasMovedIsFinishedWhereItIs) {
  record_in_part();
  const std::string moved = folder_ + "/moved.rpd";
  fs::rename(trace(), moved);
  {
    auto another = store::Writer::open(trace(), store::Writer::Mode::kCreate);
    ASSERT_TRUE(another);
    another->api({.pid = 1, .start_ns = 1, .end_ns = 2});
    ASSERT_TRUE(another->finish());
  }
  const std::string before = bytes_of(trace());
  EXPECT_FALSE(recover(session(), ""));
  const auto outcome = recover(session(), "", moved);
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_EQ(outcome->path, moved);
  EXPECT_EQ(bytes_of(trace()), before);
  EXPECT_FALSE(fs::exists(session()));
  fs::rename(moved, trace());
  EXPECT_EQ(rows("t0"), kMarks);
}

TEST_F(RecoverTest, WithoutItsTraceWhatIsLeftIsTakenOnlyIntoAnother) {
  record_in_part();
  fs::remove(trace());
  EXPECT_FALSE(recover(session(), ""));
  EXPECT_FALSE(fs::exists(trace()));
  const auto outcome = recover(session(), trace());
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_GT(rows("t0"), 0);
  EXPECT_LT(rows("t0"), kMarks);
  EXPECT_FALSE(fs::exists(session()));
}

TEST_F(RecoverTest, ARecoveryIntoAnotherFileIsGoneOnWithThere) {
  record_in_part();
  const std::string copy = folder_ + "/copy.rpd";
  fs::copy_file(trace(), copy);
  ASSERT_TRUE(write_output_name(session(), copy));
  const auto outcome = recover(session(), "", trace());
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_EQ(outcome->path, copy);
}

// The program's only GPU is the machine's second card.
TEST_F(RecoverTest, TheMetricsOfAGpuHaveTheNumberOfItsOperations) {
  const std::string addresses[] = {"0000:01:00.0", "0000:02:00.0"};
  const auto set_busy = [&](int card, int percent) {
    std::ofstream(folder_ + "/sys/devices/" + addresses[card] + "/gpu_busy_percent") << percent;
  };
  for (int card = 0; card < 2; ++card) {
    const fs::path device = folder_ + "/sys/devices/" + addresses[card];
    const fs::path folder = folder_ + "/sys/class/drm/card" + std::to_string(card);
    fs::create_directories(device);
    fs::create_directories(folder);
    fs::create_directory_symlink(device, folder / "device");
    std::ofstream(device / "vendor") << "0x1002";
    set_busy(card, 10 + card);
  }
  {
    monitor::Settings settings;
    settings.metrics = monitor::parse_selection("gpu").value();
    settings.roots = {folder_ + "/proc", folder_ + "/sys"};
    settings.nvml = "";
    Metrics metrics(settings, *writer_);
    metrics.sample({});
    for (int card = 0; card < 2; ++card) set_busy(card, 20);
    metrics.sample({});
    ASSERT_TRUE(drain_->commit(true));
  }
  wait_for(start([](Agent agent) {
    sonde_device device{};
    device.clock = SONDE_CLOCK_MONOTONIC;
    device.backend = device.name = device.vendor = device.driver = "test";
    device.kind = "gpu";
    device.location = "0000:02:00.0";
    agent->define_device(&device);
    agent->mark(0, 0, "made");
  }));
  close();
  ASSERT_TRUE(recover(session(), ""));
  EXPECT_EQ(value("SELECT deviceId FROM rocpd_monitor WHERE value = '11'"),
            value("SELECT gpu_id FROM sonde_device"));
  EXPECT_EQ(value("SELECT deviceId FROM rocpd_monitor WHERE value = '10'"), 1);
}

}  // namespace
}  // namespace sonde::record
