#include "record/stopped_threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "base/time.h"
#include "wire/board.h"

#ifdef __x86_64__
namespace sonde::record {
namespace {

// A process that computes, and a board that tells of it.
class StoppedThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
    ASSERT_EQ(::ftruncate(file.get(), sizeof(wire::Board)), 0);
    void* at =
        ::mmap(nullptr, sizeof(wire::Board), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    ASSERT_NE(at, MAP_FAILED);
    board_ = static_cast<wire::Board*>(at);
    start([] {
      for (std::atomic<uint64_t> turns = 0;;) turns.fetch_add(1);
    });
  }
  void TearDown() override {
    end();
    if (board_ != nullptr) ::munmap(board_, sizeof(wire::Board));
  }
  // The process that the board tells of: it does this.
  void start(void (*work)()) {
    end();
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      work();
      ::_exit(1);
    }
    board_->thread_count = 1;
    board_->threads[0].tid = static_cast<uint32_t>(child_);
    board_->threads[0].runs = wire::kThreadRuns;
  }
  void end() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

  // Answers each request from number `first` on, as the process would, until the stopper is gone.
  void answer_from(uint32_t first) {
    while (__atomic_load_n(&board_->stops, __ATOMIC_ACQUIRE) != 0) {
      const uint32_t asked = __atomic_load_n(&board_->stopped_asked, __ATOMIC_ACQUIRE);
      if (asked >= first && asked != board_->stopped_told) {
        if (board_->stopped.pc != 0)
          board_->threads[board_->stopped_place].runs = wire::kThreadStopped;
        __atomic_store_n(&board_->stopped_told, asked, __ATOMIC_RELEASE);
      }
      ::usleep(100);
    }
  }
  char state() const {
    std::ifstream file("/proc/" + std::to_string(child_) + "/stat");
    std::string pid, name, state;
    file >> pid >> name >> state;
    return state.empty() ? '?' : state[0];
  }
  void stop(uint32_t first_answered) {
    ThreadStopper stopper(path_);
    std::jthread process([&] { answer_from(first_answered); });
    stopper.stop_running(5'000'000'000);
    late_ = stopper.take_late();
    __atomic_store_n(&board_->stops, 0, __ATOMIC_RELEASE);
  }
  void expect_shown(uint32_t first_answered, char state_afterwards = 'R') {
    stop(first_answered);
    EXPECT_EQ(board_->threads[0].runs, wire::kThreadStopped);
    EXPECT_GE(board_->stopped_asked, first_answered);
    EXPECT_TRUE(late_.empty());
    // A thread that goes on is runnable until it has a core, also if it then waits.
    const int64_t until_ns = monotonic_now_ns() + 20'000'000'000;
    while (state() == 'R' && state_afterwards != 'R' && monotonic_now_ns() < until_ns) {
      ::usleep(1000);
    }
    EXPECT_EQ(state(), state_afterwards);
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/board";
  wire::Board* board_ = nullptr;
  pid_t child_ = -1;
  std::vector<pid_t> late_;
};

TEST_F(StoppedThreads, AreShownAndGoOn) { expect_shown(1); }

TEST_F(StoppedThreads, AreStoppedAgainWhereTheAnswerComesLate) { expect_shown(3); }

TEST_F(StoppedThreads, GoOnWaitingWhereTheyHaveJustBegunTo) {
  start([] {
    epoll_event event = {};
    ::epoll_wait(::epoll_create1(0), &event, 1, -1);  // fails with EINTR if it is not made again
  });
  while (state() != 'S') ::usleep(1000);
  expect_shown(1, 'S');
  ::usleep(50'000);
  EXPECT_EQ(state(), 'S');
}

TEST_F(StoppedThreads, AreLeftAloneWhereNobodyAnswers) {
  {
    ThreadStopper stopper(path_);
    const int64_t begin_ns = monotonic_now_ns();
    stopper.stop_running(300'000'000);
    EXPECT_LT(monotonic_now_ns() - begin_ns, 5'000'000'000);
    EXPECT_TRUE(stopper.take_late().empty());
  }
  EXPECT_EQ(board_->threads[0].runs, wire::kThreadRuns);
  EXPECT_EQ(state(), 'R');
}

TEST_F(StoppedThreads, ThatBlockAreNotStopped) {
  board_->threads[0].runs = wire::kThreadBlocked;
  stop(1);
  EXPECT_EQ(board_->stopped_asked, 0u);
}

}  // namespace
}  // namespace sonde::record
#endif
