#include "record/interrupted_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

#ifdef __x86_64__
namespace sonde::record {
namespace {

constexpr int kDone = 1, kEnded = 2;  // exit statuses: its data came; EINTR

// A process that waits for data, by epoll or by recv with a timeout, and is stopped meanwhile.
class InterruptedCall : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) ::_exit(wait_for_data());
    const std::string call = std::to_string(GetParam() ? SYS_epoll_wait : SYS_recvfrom);
    for (std::string now; now != call; ::usleep(1000)) {
      std::ifstream("/proc/" + std::to_string(child_) + "/syscall") >> now;
    }
    ASSERT_EQ(::ptrace(PTRACE_SEIZE, child_, nullptr, nullptr), 0);
    ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, child_, nullptr, nullptr), 0);
    ASSERT_EQ(::waitpid(child_, nullptr, __WALL), child_);
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    for (const int end : ends_) ::close(end);
  }

  int wait_for_data() const {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, nullptr);
    char byte = 0;
    if (!GetParam()) {
      const timeval timeout = {60, 0};
      ::setsockopt(ends_[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
      if (::recv(ends_[0], &byte, 1, 0) == 1) return kDone;
      return errno == EINTR ? kEnded : 0;
    }
    const int epoll = ::epoll_create1(0);
    epoll_event event = {};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends_[0], &event);
    if (::epoll_wait(epoll, &event, 1, -1) == 1) return kDone;
    return errno == EINTR ? kEnded : 0;
  }

  void go_on() const { ASSERT_EQ(::ptrace(PTRACE_DETACH, child_, nullptr, nullptr), 0); }
  // Whether it still waits after a while, in which the call would have ended.
  bool waits() const {
    ::usleep(50'000);
    return ::waitpid(child_, nullptr, WNOHANG) == 0;
  }
  int exit_status() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int status_after_data() {
    EXPECT_EQ(::write(ends_[1], "x", 1), 1);
    return exit_status();
  }

  std::array<int, 2> ends_ = {-1, -1};
  pid_t child_ = -1;
};

TEST_P(InterruptedCall, WouldEnd) {  // otherwise the others show nothing
  go_on();
  EXPECT_EQ(exit_status(), kEnded);
}

TEST_P(InterruptedCall, IsMadeAgain) {
  make_call_again(child_);
  go_on();
  EXPECT_TRUE(waits());
  EXPECT_EQ(status_after_data(), kDone);
}

TEST_P(InterruptedCall, EndsBySignalThatHasAHandler) {
  make_call_again(child_);
  ::kill(child_, SIGUSR1);
  go_on();
  EXPECT_EQ(exit_status(), kEnded);
}

TEST_P(InterruptedCall, GoesOnAfterSignalThatIsIgnored) {
  ::kill(child_, SIGWINCH);  // which the kernel keeps for the tracer
  make_call_again(child_);
  go_on();
  EXPECT_TRUE(waits());
  EXPECT_EQ(status_after_data(), kDone);
}

TEST_P(InterruptedCall, HasTheRegistersOfOtherCallsAlone) {
  user_regs_struct stopped = {};
  ASSERT_EQ(::ptrace(PTRACE_GETREGS, child_, nullptr, &stopped), 0);
  user_regs_struct other = stopped;
  other.orig_rax = SYS_close;
  EXPECT_FALSE(make_call_again(child_, other));
  other = stopped;
  other.rax = static_cast<unsigned long>(-EAGAIN);
  EXPECT_FALSE(make_call_again(child_, other));
  other = stopped;
  other.rip += 1;  // not behind the instruction
  EXPECT_FALSE(make_call_again(child_, other));
  other = stopped;
  EXPECT_TRUE(make_call_again(child_, other));
}

INSTANTIATE_TEST_SUITE_P(Calls, InterruptedCall, ::testing::Bool(), [](const auto& made) {
  return made.param ? std::string("Epoll") : std::string("Receive");
});

TEST(SystemCallEntry, IsToldByItsInstruction) {
  constexpr std::array<uint8_t, 4> kCode = {0x0f, 0x05, 0xcd, 0x80};
  const auto address = reinterpret_cast<uint64_t>(kCode.data());
  EXPECT_TRUE(is_after_syscall(::getpid(), address + 2));
  EXPECT_FALSE(is_after_syscall(::getpid(), address + 4));
  EXPECT_FALSE(is_after_syscall(::getpid(), 2));  // not mapped
}

}  // namespace
}  // namespace sonde::record
#endif
