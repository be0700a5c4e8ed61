#include "driver/buffers.h"

#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/test_support.h"
#include "driver/gem.h"
#include "driver/memory.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

constexpr uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
constexpr uint64_t kMiB = 1 << 20;

// A process' driver objects.
struct Process {
  explicit Process(const std::string& tree) {
    config.gpus.resize(2);
    for (GpuConfig& gpu : config.gpus) gpu.vram_bytes = 64 * kMiB;
    config.tree = tree;
    EXPECT_EQ(ftruncate(file, Memory::kFileBytes), 0);
  }
  ~Process() { close(file); }

  Memory::Made allocate(uint64_t address, uint64_t bytes = kMiB) {
    Memory::Made made;
    EXPECT_EQ(memory.allocate({.address = address, .bytes = bytes, .flags = kVram}, made), 0);
    return made;
  }
  int exported(const Memory::Made& made) {
    int fd = -1;
    EXPECT_EQ(memory.buffers().open_share(memory.buffer(made.handle), true, fd), 0);
    return fd;
  }
  uint64_t used() const { return session.load(0).vram_used_bytes; }

  Config config;
  Session session{""};
  const int file = memfd_create("buffers_test", MFD_CLOEXEC);
  Memory memory{config, session, file};
};

class BuffersTest : public testing::Test {
 protected:
  BuffersTest() {
    void* at = mmap(nullptr, 16 * kMiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = reinterpret_cast<uint64_t>(at);
    own_.emplace(tree_.path());
  }
  ~BuffersTest() override {
    own_.reset();
    munmap(reinterpret_cast<void*>(base_), 16 * kMiB);
  }
  // The exit status of `work` in a child process, which the caller waits for.
  template <typename Work>
  int in_other_process(Work work) {
    const pid_t child = fork();
    if (child == 0) {
      Process other(tree_.path());
      _exit(work(other));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int files() const {
    int count = 0;
    for ([[maybe_unused]] const auto& file :
         std::filesystem::directory_iterator(tree_.path() + std::string(kShares))) {
      ++count;
    }
    return count;
  }
  char* bytes(uint64_t offset = 0) const { return reinterpret_cast<char*>(base_ + offset); }

  const sonde::test::TemporaryDirectory tree_;
  uint64_t base_ = 0;
  std::optional<Process> own_;
};

TEST_F(BuffersTest, ADescriptorHasTheSizeAndLeadsBackToItsBuffer) {
  const auto made = own_->allocate(base_);
  const int fd = own_->exported(made);
  EXPECT_EQ(lseek(fd, 0, SEEK_END), static_cast<off_t>(kMiB));  // as libdrm asks a DMA buffer
  BufferRef buffer;
  ASSERT_EQ(own_->memory.buffers().import(fd, buffer), 0);
  EXPECT_EQ(buffer, own_->memory.buffer(made.handle));
  EXPECT_EQ(own_->memory.buffers().import(own_->file, buffer), EINVAL);
  EXPECT_EQ(own_->memory.buffers().import(-1, buffer), EINVAL);
  close(fd);
}

TEST_F(BuffersTest, AnotherProcessSeesTheSameBytesByNameOrDescriptor) {
  const auto made = own_->allocate(base_);
  ASSERT_EQ(own_->memory.map(made.handle, 0), 0);
  std::strcpy(bytes(), "from the owner");
  const int fd = own_->exported(made);
  ShareName name;
  ASSERT_EQ(own_->memory.buffers().share(own_->memory.buffer(made.handle), name), 0);
  EXPECT_EQ(in_other_process([&](Process& other) {
              BufferRef by_name, by_fd;
              if (other.memory.buffers().import(name, by_name) != 0) return 1;
              if (other.memory.buffers().import(fd, by_fd) != 0 || by_fd != by_name) return 2;
              Memory::Made there;
              const uint64_t at = base_ + 8 * kMiB;
              if (other.memory.add(by_name, at, 1, there) != 0) return 3;
              if (other.memory.map(there.handle, 1) != 0) return 4;
              if (std::strcmp(bytes(8 * kMiB), "from the owner") != 0) return 5;
              if (!other.memory.is_mapped(1, at, kMiB) || other.memory.is_mapped(0, at, 1))
                return 6;
              // A mapping by the offset it was told, or by the descriptor.
              const auto place = other.memory.buffers().foreign_place(there.offset + 4096);
              if (!place || place->fd == other.file) return 7;
              const auto direct = other.memory.buffers().shared_place(fd, 4096);
              if (!direct || direct->offset != place->offset) return 8;
              if (other.used() != 0) return 9;  // it belongs to the owner
              std::strcpy(bytes(8 * kMiB), "from the other");
              return 0;
            }),
            0);
  EXPECT_STREQ(bytes(), "from the other");
  close(fd);
}

TEST_F(BuffersTest, PagesStayUntilTheLastUserIsGone) {
  const auto made = own_->allocate(base_);
  int fd = own_->exported(made);
  ASSERT_EQ(own_->memory.free(made.handle), 0);
  EXPECT_EQ(own_->used(), kMiB);  // the descriptor keeps it
  BufferRef buffer;
  ASSERT_EQ(own_->memory.buffers().import(fd, buffer), 0);
  close(fd);
  own_->memory.free(own_->allocate(base_ + kMiB).handle);
  EXPECT_EQ(own_->used(), kMiB);  // now the buffer that was imported
  EXPECT_EQ(files(), 1);
  buffer.reset();
  own_->memory.free(own_->allocate(base_ + kMiB).handle);
  EXPECT_EQ(own_->used(), 0u);
  EXPECT_EQ(files(), 0);
}

TEST_F(BuffersTest, AKilledUserDoesNotKeepThem) {
  const auto made = own_->allocate(base_);
  ShareName name;
  ASSERT_EQ(own_->memory.buffers().share(own_->memory.buffer(made.handle), name), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Process other(tree_.path());
    BufferRef buffer;
    const char result = other.memory.buffers().import(name, buffer) == 0 ? 'y' : 'n';
    if (write(ready[1], &result, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char result = 0;
  ASSERT_EQ(read(ready[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  own_->memory.free(made.handle);
  EXPECT_EQ(own_->used(), kMiB);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  own_->memory.free(own_->allocate(base_).handle);
  EXPECT_EQ(own_->used(), 0u);
  for (const int end : ready) close(end);
}

TEST_F(BuffersTest, WhatIsGoneOrNobodysCannotBeImported) {
  const auto made = own_->allocate(base_);
  ShareName name;
  ASSERT_EQ(own_->memory.buffers().share(own_->memory.buffer(made.handle), name), 0);
  own_->memory.free(made.handle);
  BufferRef buffer;
  EXPECT_EQ(own_->memory.buffers().import(name, buffer), EINVAL);
  EXPECT_EQ(own_->memory.buffers().import(ShareName{1, 1}, buffer), EINVAL);
  // From a process that has ended, and its memory with it.
  int fd = -1;
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  EXPECT_EQ(in_other_process([&](Process& other) {
              ShareName theirs;
              const auto there = other.allocate(base_);
              other.memory.buffers().share(other.memory.buffer(there.handle), theirs);
              return write(channel[1], &theirs, sizeof theirs) == sizeof theirs ? 0 : 1;
            }),
            0);
  ASSERT_EQ(read(channel[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  EXPECT_EQ(own_->memory.buffers().import(name, buffer), EINVAL);
  for (const int end : channel) close(end);
  close(fd);
}

TEST_F(BuffersTest, PiecesOfMemoryWithoutAddressAreMappedWhereDrmSays) {
  const auto made = own_->allocate(0, 4 * kMiB);
  EXPECT_EQ(own_->memory.map(made.handle, 0), EINVAL);  // it has no address
  Gem gem(own_->memory);
  const int fd = own_->exported(made);
  uint32_t handle = 0, again = 0, of_other_gpu = 0;
  ASSERT_EQ(gem.import(0, fd, handle), 0);
  ASSERT_EQ(gem.import(0, fd, again), 0);
  ASSERT_EQ(gem.import(1, fd, of_other_gpu), 0);
  EXPECT_EQ(handle, again);
  close(fd);
  const BufferRef buffer = gem.buffer(0, handle);
  Memory& memory = own_->memory;
  const Memory::Piece first{.address = base_, .bytes = kMiB, .offset = 2 * kMiB};
  const Memory::Piece second{.address = base_ + 4 * kMiB, .bytes = 4 * kMiB};
  ASSERT_EQ(memory.map_piece(buffer, first, 0), 0);
  EXPECT_EQ(memory.map_piece(buffer, first, 0), EINVAL);  // it is mapped already
  EXPECT_EQ(memory.map_piece(buffer, {.address = base_ + 4096, .bytes = 4096}, 0), EINVAL);
  EXPECT_EQ(memory.map_piece(buffer, {.address = base_, .bytes = 5 * kMiB}, 0), EINVAL);
  ASSERT_EQ(memory.map_piece(buffer, first, 1), 0);
  ASSERT_EQ(memory.map_piece(buffer, second, 0), 0);
  std::strcpy(bytes(), "one memory");
  EXPECT_STREQ(bytes(6 * kMiB), "one memory");
  EXPECT_TRUE(memory.is_mapped(1, base_, kMiB));
  EXPECT_FALSE(memory.is_mapped(1, base_ + 4 * kMiB, 1));
  EXPECT_EQ(memory.unmap_piece(buffer, second, 1), ENOENT);
  EXPECT_EQ(memory.unmap_piece(buffer, first, 0), 0);
  EXPECT_STREQ(bytes(), "one memory");  // for the other GPU
  EXPECT_EQ(gem.close(1, of_other_gpu), 0);
  EXPECT_FALSE(memory.is_mapped(1, base_, 1));
  EXPECT_DEATH(bytes()[0] = 1, "");
  EXPECT_EQ(gem.close(1, of_other_gpu), EINVAL);
  EXPECT_EQ(memory.unmap_piece(buffer, second, 0), 0);
}

TEST_F(BuffersTest, APieceForReadingIsAFaultToWrite) {
  const auto made = own_->allocate(0);
  const BufferRef buffer = own_->memory.buffer(made.handle);
  const Memory::Piece piece{.address = base_, .bytes = kMiB, .offset = 0, .writable = false};
  ASSERT_EQ(own_->memory.map_piece(buffer, piece, 0), 0);
  EXPECT_EQ(bytes()[0], 0);
  EXPECT_DEATH(bytes()[0] = 1, "");
}

}  // namespace
}  // namespace softgpu
