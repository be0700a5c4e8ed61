#include "driver/session.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_support.h"

namespace softgpu {
namespace {

class SessionTest : public testing::Test {
 protected:
  // A process that joins, holds memory and waits to be killed.
  pid_t start_other(uint64_t vram_bytes) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto* session = new Session(file_);
      const bool joined = session->join() && session->charge_vram(0, vram_bytes, ~0ull);
      session->set_busy(0, 0.5, 0.25);
      if (write(ready[1], &joined, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void kill_other(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const sonde::test::TemporaryDirectory folder_;
  const std::string file_ = folder_ / "session";
};

TEST_F(SessionTest, SumsAllProcessesAndForgetsTheKilled) {
  Session session(file_);
  ASSERT_TRUE(session.join());
  EXPECT_TRUE(session.charge_vram(0, 100, 1000));
  const pid_t child = start_other(300);
  EXPECT_EQ(session.load(0).vram_used_bytes, 400u);
  EXPECT_EQ(session.load(1).vram_used_bytes, 0u);
  EXPECT_NEAR(session.load(0).busy, 0.5, 0.01);
  session.set_busy(0, 0.3, 0);
  EXPECT_NEAR(session.load(0).busy, 0.8, 0.01);
  EXPECT_EQ(session.processes().size(), 2u);
  EXPECT_FALSE(session.charge_vram(0, 601, 1000));
  EXPECT_TRUE(session.charge_vram(0, 600, 1000));
  kill_other(child);
  EXPECT_EQ(session.load(0).vram_used_bytes, 700u);
  ASSERT_EQ(session.processes().size(), 1u);
  EXPECT_EQ(session.processes()[0].pid, getpid());
}

TEST_F(SessionTest, AWatcherSeesWithoutJoining) {
  const pid_t child = start_other(300);
  Session watcher(file_);
  EXPECT_EQ(watcher.load(0).vram_used_bytes, 300u);
  ASSERT_EQ(watcher.processes().size(), 1u);
  EXPECT_EQ(watcher.processes()[0].pid, child);
  EXPECT_EQ(watcher.processes()[0].vram_bytes[0], 300u);
  kill_other(child);
  EXPECT_TRUE(watcher.processes().empty());
}

TEST_F(SessionTest, AnEntryIsUsedAgain) {
  for (int i = 0; i < 600; ++i) {  // more than there are entries
    Session session(file_);
    ASSERT_TRUE(session.join());
    ASSERT_TRUE(session.charge_vram(0, 10, 10));  // what the previous one left does not count
  }
}

TEST_F(SessionTest, WithoutAFileTheProcessIsAlone) {
  Session session(folder_ / "none/session");
  EXPECT_FALSE(session.join());
  EXPECT_TRUE(session.charge_vram(0, 10, 10));
  EXPECT_FALSE(session.charge_vram(0, 1, 10));
  session.release_vram(0, 10);
  EXPECT_EQ(session.load(0).vram_used_bytes, 0u);
}

}  // namespace
}  // namespace softgpu
