// The memory of this process and of a child, read like that of a program that hangs.
#include "fault/live.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "fault/board_file.h"

namespace sonde::fault {
namespace {

// A file with a board's name, mapped by this process.
class LiveTest : public BoardFile {
 protected:
  void SetUp() override {
    BoardFile::SetUp();
    board_->pid = static_cast<uint32_t>(::getpid());
    write();
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    map_ = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    ASSERT_NE(map_, MAP_FAILED);
  }
  void TearDown() override { ::munmap(map_, 4096); }

  void* map_ = MAP_FAILED;
};

TEST_F(LiveTest, ReadsMemoryAndSignals) {
  const int64_t signal[2] = {1, -5};
  const LiveProcess process(*board_, path_);
  ASSERT_EQ(process.trouble(), 0);
  EXPECT_EQ(process.signal_value(reinterpret_cast<uint64_t>(signal)), -5);
  EXPECT_FALSE(process.signal_value(64).has_value());
  int64_t copy = 0;
  EXPECT_EQ(process.read(64, &copy, sizeof copy), -EFAULT);
}

TEST_F(LiveTest, ReadsAsFarAsThereIsMemory) {
  void* pages = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ::munmap(static_cast<char*>(pages) + 4096, 4096);
  const LiveProcess process(*board_, path_);
  char copy[100];
  EXPECT_EQ(process.read(reinterpret_cast<uint64_t>(pages) + 4096 - 40, copy, sizeof copy), 40);
  ::munmap(pages, 4096);
}

// A process that reuses a pid has not mapped the board.
TEST_F(LiveTest, LooksAtNoOtherProcess) {
  int unmapped[2];
  ASSERT_EQ(::pipe(unmapped), 0);
  const pid_t child = ::fork();
  char word = 0;
  if (child == 0) {
    ::munmap(map_, 4096);
    if (::write(unmapped[1], &word, 1) == 1) ::pause();
    ::_exit(0);
  }
  board_->pid = static_cast<uint32_t>(child);
  ASSERT_EQ(::read(unmapped[0], &word, 1), 1);
  ::close(unmapped[0]);
  ::close(unmapped[1]);
  const LiveProcess process(*board_, path_);
  EXPECT_EQ(process.trouble(), ESRCH);
  int64_t copy = 0;
  EXPECT_EQ(process.read(reinterpret_cast<uint64_t>(&copy), &copy, sizeof copy), -ESRCH);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(LiveProcess(*board_, path_).trouble(), ESRCH);
}

TEST_F(LiveTest, SeesThatADispatchEndedMeanwhile) {
  const LiveProcess process(*board_, path_);
  EXPECT_FALSE(process.has_ended(4));
  board_->ends[3].number = 4;
  write();
  EXPECT_TRUE(process.has_ended(4));
}

}  // namespace
}  // namespace sonde::fault
