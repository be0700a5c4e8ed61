#include "driver/smi.h"

#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/test_support.h"

namespace softgpu {
namespace {

class SmiTest : public testing::Test {
 protected:
  SmiTest() { std::filesystem::create_directory(tree_); }

  static int client(Smi& smi, uint32_t gpu, uint64_t mask) {
    int fd = -1;
    EXPECT_EQ(smi.open(gpu, fd), 0);
    EXPECT_EQ(write(fd, &mask, sizeof mask), static_cast<ssize_t>(sizeof mask));
    return fd;
  }
  static std::string next(int fd, int wait_ms = 10'000) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, wait_ms) != 1) return "";
    char text[256];
    const ssize_t bytes = read(fd, text, sizeof text);
    return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "";
  }
  void in_other_process(uint32_t gpu, bool own) {
    const pid_t child = fork();
    if (child == 0) {
      const Smi other(tree_);
      if (own) other.tell_own(gpu, SmiEvent::kMemoryFault, "own");
      other.tell_all(gpu, SmiEvent::kMemoryFault, "7b:other");
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }

  static constexpr uint64_t kFaults = KFD_SMI_EVENT_MASK_FROM_INDEX(1);
  const sonde::test::TemporaryDirectory top_;
  // Longer than a socket name may be.
  const std::string tree_ = top_ / std::string(120, 'x');
};

TEST_F(SmiTest, AClientHearsWhatItAskedForOfItsGpu) {
  Smi smi(tree_);
  const int fd = client(smi, 1, kFaults | KFD_SMI_EVENT_MASK_FROM_INDEX(4));
  char byte = 0;
  EXPECT_EQ(read(fd, &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  smi.tell_all(0, SmiEvent::kMemoryFault, "1:other_gpu");
  smi.tell_all(1, SmiEvent::kBeforeReset, "1");
  smi.tell_own(1, SmiEvent::kMemoryFault, "7b:app");
  EXPECT_EQ(next(fd), "1 7b:app\n");
  const uint64_t none = 0;
  ASSERT_EQ(write(fd, &none, sizeof none), static_cast<ssize_t>(sizeof none));
  smi.tell_all(1, SmiEvent::kMemoryFault, "not wanted");
  const uint64_t resets = KFD_SMI_EVENT_MASK_FROM_INDEX(4);
  EXPECT_EQ(next(fd, 100), "");
  ASSERT_EQ(write(fd, &resets, sizeof resets), static_cast<ssize_t>(sizeof resets));
  smi.tell_all(1, SmiEvent::kAfterReset, "1");
  EXPECT_EQ(next(fd), "4 1\n");
  close(fd);
  smi.tell_all(1, SmiEvent::kAfterReset, "1");  // to nobody
}

TEST_F(SmiTest, OtherProcessesAreHeardButNotWhatIsTheirOwn) {
  Smi smi(tree_);
  const int fd = client(smi, 0, kFaults);
  in_other_process(0, true);
  EXPECT_EQ(next(fd), "1 7b:other\n");
  if (geteuid() == 0) {
    const uint64_t all = kFaults | uint64_t{1} << 63;
    ASSERT_EQ(write(fd, &all, sizeof all), static_cast<ssize_t>(sizeof all));
    in_other_process(0, true);
    std::string heard;
    while (heard.size() < 17) heard += next(fd);
    EXPECT_EQ(heard, "1 own\n1 7b:other\n");
  }
  close(fd);
}

TEST_F(SmiTest, WhoHasEndedLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    Smi other(tree_);
    int fd = -1;
    _exit(other.open(0, fd));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::is_empty(tree_ + "/smi"));
  Smi(tree_).tell_all(0, SmiEvent::kMemoryFault, "x");
  EXPECT_TRUE(std::filesystem::is_empty(tree_ + "/smi"));
}

}  // namespace
}  // namespace softgpu
