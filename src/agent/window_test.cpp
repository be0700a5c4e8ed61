// A marker window: recording is off, and on only while a range is open whose name matches.
#include "agent/window.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

#include "agent/agent_test_support.h"

namespace sonde {
namespace {

class Window : public Agent {
 protected:
  void SetUp() override {
    Agent::SetUp();
    static const bool begun = [] {
      ::setenv("SONDE_MARKER_WINDOW", "^dec|\xc3\xbc$", 1);
      return agent::begin_windows();
    }();
    ASSERT_TRUE(begun && agent::has_windows());
    agent_->stop();
    ASSERT_FALSE(is_on());
  }
  void TearDown() override {
    EXPECT_FALSE(is_on());
    agent_->start();
  }
  bool is_on() const { return agent_->recording() != 0; }
  // The marks of that name that were recorded.
  static int marks(const std::string& name) {
    const Seen seen = read_own();
    const auto found = seen.marks.find(name);
    return found == seen.marks.end() ? 0 : found->second;
  }
};

TEST_F(Window, IsOpenWhileARangeMatches) {
  agent::window_range_push(0, 0, "window: load");
  agent_->mark(0, 0, "window: in load");
  EXPECT_FALSE(is_on());
  agent::window_range_push(0, 0, "decode");
  EXPECT_TRUE(is_on());
  agent_->mark(0, 0, "window: in decode");
  agent::window_range_push(0, 0, "window: inner");
  agent::window_range_pop(0);
  EXPECT_TRUE(is_on());
  agent::window_range_pop(0);
  EXPECT_FALSE(is_on());
  agent_->mark(0, 0, "window: after");
  agent::window_range_pop(0);
  EXPECT_EQ(marks("window: in decode"), 1);
  EXPECT_EQ(marks("window: in load") + marks("window: after"), 0);
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at("decode"), 1);
  EXPECT_EQ(seen.ranges.at("window: inner"), 1);
}

TEST_F(Window, RangesThatMatchNest) {
  agent::window_range_push(0, 0, "decode outer");
  agent::window_range_push(0, 0, "decode inner");
  agent::window_range_pop(0);
  EXPECT_TRUE(is_on());
  agent::window_range_pop(0);
}

TEST_F(Window, AnotherThreadsRangeLetsInWhatThisOneDoes) {
  const uint64_t id = agent::window_range_start(0, 0, "decode started");
  agent_->mark(0, 0, "window: of this thread");
  std::thread([&] {
    agent_->mark(0, 0, "window: of another");
    agent::window_range_stop(id);
  }).join();
  EXPECT_FALSE(is_on());
  EXPECT_EQ(marks("window: of this thread") + marks("window: of another"), 2);
  agent::window_range_stop(id);  // the second stop has no effect
  agent::window_range_stop(0);
}

TEST_F(Window, AThreadThatEndsTakesItsWindowsWithIt) {
  std::thread([&] {
    agent::window_range_push(0, 0, "decode for ever");
    agent::window_range_push(0, 0, "decode for ever again");
    EXPECT_TRUE(is_on());
  }).join();
  EXPECT_FALSE(is_on());
}

TEST_F(Window, ARangeTooDeepIsNoWindow) {
  agent::window_range_push(0, 0, "decode first");
  for (int i = 0; i < 400; ++i) agent::window_range_push(0, 0, "decode deep");
  for (int i = 0; i < 400; ++i) agent::window_range_pop(0);
  EXPECT_TRUE(is_on());
  agent::window_range_pop(0);
}

TEST_F(Window, AsManyAsAreStartedAtATimeAreCountedDownAgain) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(agent::window_range_start(0, 0, "decode many"));
  EXPECT_TRUE(is_on());
  for (const uint64_t id : ids) agent::window_range_stop(id);
}

TEST_F(Window, ForgettingLeavesWhatTheProgramSaidItself) {
  agent_->start();
  agent::window_range_start(0, 0, "decode of the parent");
  agent::forget_windows(/*may_match=*/true);  // as in a forked child
  EXPECT_TRUE(is_on());
  agent_->stop();
}

TEST_F(Window, NamesAreMatchedAsTheyAre) {
  for (const char* name : {"", "redecode", "DECODE", "de"}) {
    agent::window_range_push(0, 0, name);
    EXPECT_FALSE(is_on()) << name;
    agent::window_range_pop(0);
  }
  agent::window_range_push(0, 0, nullptr);
  EXPECT_FALSE(is_on());
  agent::window_range_pop(0);
  agent::window_range_push(0, 0, "men\xc3\xbc");
  EXPECT_TRUE(is_on());
  agent::window_range_pop(0);
  // More names than the cache holds, each twice: an eviction must not change an answer.
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2000; ++i) {
      const std::string name = (i % 3 == 0 ? "decode " : "other ") + std::to_string(i);
      agent::window_range_push(0, 0, name.c_str());
      EXPECT_EQ(is_on(), i % 3 == 0) << name;
      agent::window_range_pop(0);
    }
  }
}

// How often each of them meets the other within a match.
constexpr int kTimes = 300;

std::string new_text() {
  static std::atomic<int> count{0};
  return "request " + std::to_string(++count);
}

TEST_F(Window, AForkedChildMatchesWhileAnotherThreadOfItsParentDid) {
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      agent::window_range_push(0, 0, new_text().c_str());
      agent::window_range_pop(0);
    }
  });
  for (int i = 0; i < kTimes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      agent::window_range_push(0, 0, "decode of a child");
      _exit(is_on() ? 0 : 1);
    }
    ASSERT_EQ(exit_of(child), 0) << i;
  }
  over = true;
  other.join();
}

TEST_F(Window, ASignalHandlerDoesNotWaitForTheMatchThatItInterrupts) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    static volatile int handled = 0;
    signal(SIGVTALRM, [](int) {
      agent::window_range_push(0, 0, handled % 2 == 0 ? "request of a handler" : "another one");
      agent::window_range_pop(0);
      handled = handled + 1;
    });
    const itimerval often = {{0, 100}, {0, 100}};  // us
    setitimer(ITIMER_VIRTUAL, &often, nullptr);
    while (handled < kTimes) {
      agent::window_range_push(0, 0, new_text().c_str());
      agent::window_range_pop(0);
    }
    _exit(0);
  }
  EXPECT_EQ(exit_of(child), 0);
}

}  // namespace
}  // namespace sonde
