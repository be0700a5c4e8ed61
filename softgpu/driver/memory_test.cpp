#include "driver/memory.h"

#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace softgpu {
namespace {

constexpr uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM, kGtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT;
constexpr uint32_t kUser = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
constexpr uint64_t kMiB = 1 << 20;

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    config_.gpus.resize(2);
    for (GpuConfig& gpu : config_.gpus) gpu.vram_bytes = 64 * kMiB;
    EXPECT_EQ(ftruncate(file_, Memory::kFileBytes), 0);
    // Addresses come from libhsakmt, which reserves them in this way.
    void* at =
        mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    base_ = reinterpret_cast<uint64_t>(at);
  }
  ~MemoryTest() override {
    munmap(reinterpret_cast<void*>(base_), kReserved);
    close(file_);
  }

  uint64_t allocate(uint64_t address, uint64_t bytes, uint32_t flags, uint32_t gpu = 0,
                    uint64_t user_address = 0) {
    Memory::Made made;
    EXPECT_EQ(memory_.allocate({.address = address,
                                .bytes = bytes,
                                .gpu = gpu,
                                .flags = flags,
                                .user_address = user_address},
                               made),
              0);
    return made.handle;
  }
  uint64_t stored_bytes() const {
    struct stat info {};
    fstat(file_, &info);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  }

  static constexpr uint64_t kReserved = 256 * kMiB;
  Config config_;
  Session session_{""};
  const int file_ = memfd_create("memory_test", MFD_CLOEXEC);
  uint64_t base_ = 0;
  Memory memory_{config_, session_, file_};
};

TEST_F(MemoryTest, AnAddressIsAPointerOnceMapped) {
  const uint64_t handle = allocate(base_, kMiB, kVram);
  EXPECT_FALSE(memory_.is_mapped(0, base_, 1));
  ASSERT_EQ(memory_.map(handle, 0), 0);
  std::memset(reinterpret_cast<void*>(base_), 7, kMiB);
  EXPECT_TRUE(memory_.is_mapped(0, base_, kMiB));
  EXPECT_FALSE(memory_.is_mapped(1, base_, kMiB));  // the other GPU
}

TEST_F(MemoryTest, MappingLooksAtTheEnd) {
  ASSERT_EQ(memory_.map(allocate(base_, kMiB, kVram), 0), 0);
  EXPECT_TRUE(memory_.is_mapped(0, base_ + kMiB - 8, 8));
  EXPECT_FALSE(memory_.is_mapped(0, base_ + kMiB - 8, 9));
  EXPECT_FALSE(memory_.is_mapped(0, base_ - 1, 2));
  EXPECT_FALSE(memory_.is_mapped(0, ~uint64_t{0} - 4, 16));  // wraps around the address space
  ASSERT_EQ(memory_.map(allocate(base_ + kMiB, kMiB, kGtt), 0), 0);
  EXPECT_TRUE(memory_.is_mapped(0, base_ + kMiB - 8, 16));  // spans the adjacent mapping
}

TEST_F(MemoryTest, UnmappedVramIsAFaultAgainAndKeepsItsContent) {
  const uint64_t handle = allocate(base_, kMiB, kVram);
  auto* word = reinterpret_cast<volatile uint32_t*>(base_);
  ASSERT_EQ(memory_.map(handle, 0), 0);
  *word = 4711;
  ASSERT_EQ(memory_.unmap(handle, 0), 0);
  EXPECT_FALSE(memory_.is_mapped(0, base_, 4));
  const auto read = [&] { return static_cast<void>(*word), std::exit(0); };
  EXPECT_DEATH(read(), "");  // by a signal, or by a sanitizer that reports one
  ASSERT_EQ(memory_.map(handle, 1), 0);
  EXPECT_EQ(*word, 4711u);
}

TEST_F(MemoryTest, MappedForTwoGpusStaysForTheSecond) {
  const uint64_t handle = allocate(base_, kMiB, kVram);
  memory_.map(handle, 0);
  memory_.map(handle, 1);
  memory_.unmap(handle, 0);
  EXPECT_FALSE(memory_.is_mapped(0, base_, 4));
  EXPECT_TRUE(memory_.is_mapped(1, base_, 4));
  *reinterpret_cast<volatile uint32_t*>(base_) = 1;
}

TEST_F(MemoryTest, FreeGivesThePagesBack) {
  const uint64_t handle = allocate(base_, 8 * kMiB, kVram);
  ASSERT_EQ(memory_.map(handle, 0), 0);
  std::memset(reinterpret_cast<void*>(base_), 1, 8 * kMiB);
  EXPECT_GE(stored_bytes(), 8 * kMiB);
  EXPECT_EQ(session_.load(0).vram_used_bytes, 8 * kMiB);
  ASSERT_EQ(memory_.unmap(handle, 0), 0);
  ASSERT_EQ(memory_.free(handle), 0);
  EXPECT_EQ(stored_bytes(), 0u);
  EXPECT_EQ(session_.load(0).vram_used_bytes, 0u);
  EXPECT_EQ(memory_.free(handle), EINVAL);
  EXPECT_EQ(memory_.map(handle, 0), EINVAL);
}

TEST_F(MemoryTest, VramIsLimitedGttIsNot) {
  const uint64_t first = allocate(base_, 48 * kMiB, kVram);
  Memory::Made made;
  EXPECT_EQ(
      memory_.allocate({.address = base_ + 64 * kMiB, .bytes = 17 * kMiB, .flags = kVram}, made),
      ENOMEM);
  allocate(base_ + 64 * kMiB, 128 * kMiB, kGtt);
  allocate(base_ + 200 * kMiB, 17 * kMiB, kVram, 1);  // each GPU has its own
  EXPECT_EQ(memory_.free(first), 0);
  allocate(base_, 64 * kMiB, kVram);
}

TEST_F(MemoryTest, RegisteredMemoryLeadsBackToItsOwnAddress) {
  std::vector<char> own(3 * 65536);
  const auto start = reinterpret_cast<uint64_t>(own.data());
  EXPECT_EQ(memory_.own_address(base_ + 100), base_ + 100);
  // Two registrations of overlapping ranges, each with an address of its own.
  const uint64_t first = allocate(base_, 2 * 65536, kUser, 0, start);
  allocate(base_ + kMiB, 2 * 65536, kUser, 0, start + 65536);
  EXPECT_FALSE(memory_.is_mapped(0, base_, 1));
  ASSERT_EQ(memory_.map(first, 0), 0);
  EXPECT_TRUE(memory_.is_mapped(0, base_, 2 * 65536));
  EXPECT_FALSE(memory_.is_mapped(0, base_, 2 * 65536 + 1));
  EXPECT_FALSE(memory_.is_mapped(0, start, 1));  // GPUs know only the other address
  EXPECT_EQ(memory_.own_address(base_ + 100), start + 100);
  EXPECT_EQ(memory_.own_address(base_ + kMiB), start + 65536);
  EXPECT_EQ(memory_.own_address(base_ + 2 * 65536), base_ + 2 * 65536);
  memory_.free(first);
  EXPECT_FALSE(memory_.is_mapped(0, base_, 1));
  EXPECT_EQ(memory_.own_address(base_), base_);
  EXPECT_EQ(memory_.own_address(base_ + kMiB + 1), start + 65537);
}

// Paged memory is registered at its own address: nothing to translate.
TEST_F(MemoryTest, UserMemoryAtItsOwnAddressStaysAsItIs) {
  std::vector<char> own(65536, 'x');
  const auto start = reinterpret_cast<uint64_t>(own.data());
  const uint64_t handle = allocate(start, own.size(), kUser, 0, start);
  ASSERT_EQ(memory_.map(handle, 0), 0);
  EXPECT_TRUE(memory_.is_mapped(0, start, own.size()));
  EXPECT_EQ(memory_.own_address(start + 5), start + 5);
  EXPECT_EQ(own[100], 'x');
  ASSERT_EQ(memory_.unmap(handle, 0), 0);
  EXPECT_EQ(own[100], 'x');
}

}  // namespace
}  // namespace softgpu
