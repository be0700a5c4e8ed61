#include "driver/svm.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <vector>

#include "tree/layout.h"

namespace softgpu {
namespace {

using Attribute = kfd_ioctl_svm_attribute;
constexpr uint64_t kPage = 4096, kPages = 64;
constexpr uint32_t kUndefined = KFD_IOCTL_SVM_LOCATION_UNDEFINED;

class SvmTest : public testing::Test {
 protected:
  SvmTest() {
    config_.gpus.resize(2);
    for (GpuConfig& gpu : config_.gpus) gpu.model = "gfx90a";
    void* at =
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = reinterpret_cast<uint64_t>(at);
  }
  ~SvmTest() override { munmap(reinterpret_cast<void*>(base_), kPages * kPage); }

  int set(uint64_t page, uint64_t pages, std::vector<Attribute> attributes) {
    return svm_.set(base_ + page * kPage, pages * kPage, attributes);
  }
  Attribute get(uint64_t page, uint64_t pages, uint32_t type, uint32_t value = 0) {
    Attribute wanted{type, value};
    EXPECT_EQ(svm_.get(base_ + page * kPage, pages * kPage, {&wanted, 1}), 0);
    return wanted;
  }
  uint32_t access(uint64_t page, uint64_t pages, uint32_t gpu) {
    return get(page, pages, KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(gpu)).type;
  }
  bool mapped(uint32_t gpu, uint64_t page, uint64_t pages) {
    return svm_.is_mapped(gpu, base_ + page * kPage, pages * kPage);
  }

  Config config_;
  uint64_t base_ = 0;
  Svm svm_{config_};
};

TEST_F(SvmTest, WhatNobodySetHasTheDefaults) {
  EXPECT_EQ(get(0, 4, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, kUndefined);
  EXPECT_EQ(get(0, 4, KFD_IOCTL_SVM_ATTR_GRANULARITY).value, 9u);
  EXPECT_EQ(get(0, 4, KFD_IOCTL_SVM_ATTR_SET_FLAGS).value,
            uint32_t{KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT});
  EXPECT_EQ(access(0, 4, 0), uint32_t{KFD_IOCTL_SVM_ATTR_NO_ACCESS});
  EXPECT_FALSE(mapped(0, 0, 1));
}

TEST_F(SvmTest, ARangeIsSplitAndAskedForAsAWhole) {
  ASSERT_EQ(set(0, 16,
                {{KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(0)},
                 {KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, gpu_id(1)},
                 {KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO},
                 {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, gpu_id(0)}}),
            0);
  ASSERT_EQ(set(4, 4,
                {{KFD_IOCTL_SVM_ATTR_NO_ACCESS, gpu_id(1)},
                 {KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_COHERENT},
                 {KFD_IOCTL_SVM_ATTR_GRANULARITY, 3},
                 {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0}}),
            0);
  EXPECT_TRUE(mapped(0, 0, 16));
  EXPECT_FALSE(mapped(0, 0, 17));
  EXPECT_TRUE(mapped(1, 0, 4));
  EXPECT_FALSE(mapped(1, 3, 2));
  EXPECT_TRUE(mapped(1, 8, 8));
  EXPECT_EQ(access(0, 4, 1), uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE});
  EXPECT_EQ(access(0, 16, 1), uint32_t{KFD_IOCTL_SVM_ATTR_NO_ACCESS});
  EXPECT_EQ(access(0, 16, 0), uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS});
  EXPECT_EQ(get(0, 4, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, gpu_id(0));
  EXPECT_EQ(get(0, 16, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, kUndefined);
  EXPECT_EQ(get(0, 16, KFD_IOCTL_SVM_ATTR_GRANULARITY).value, 3u);
  EXPECT_EQ(get(0, 16, KFD_IOCTL_SVM_ATTR_SET_FLAGS).value,
            uint32_t{KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_GPU_RO});
  const uint32_t clear = get(0, 16, KFD_IOCTL_SVM_ATTR_CLR_FLAGS).value;
  EXPECT_EQ(clear & KFD_IOCTL_SVM_FLAG_COHERENT, 0u);  // another part has it
  EXPECT_NE(clear & KFD_IOCTL_SVM_FLAG_GPU_EXEC, 0u);
}

TEST_F(SvmTest, WrongCallsChangeNothing) {
  EXPECT_EQ(set(0, 4, {{KFD_IOCTL_SVM_ATTR_ACCESS, 99}}), EINVAL);
  EXPECT_EQ(set(0, 4, {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, kUndefined}}), EINVAL);
  EXPECT_EQ(set(0, 4, {{KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(0)}, {77, 0}}), EINVAL);
  EXPECT_EQ(svm_.set(base_ + 1, kPage, {}), EINVAL);
  EXPECT_EQ(svm_.set(base_, 0, {}), EINVAL);
  EXPECT_FALSE(mapped(0, 0, 4));
  munmap(reinterpret_cast<void*>(base_ + kPage), kPage);
  EXPECT_EQ(set(0, 4, {{KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(0)}}), EFAULT);
}

TEST_F(SvmTest, WhatTheProcessGaveBackIsAFault) {
  ASSERT_EQ(set(0, 8, {{KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(0)}}), 0);
  munmap(reinterpret_cast<void*>(base_ + 3 * kPage), kPage);
  EXPECT_TRUE(mapped(0, 0, 3));
  EXPECT_FALSE(mapped(0, 0, 8));
}

TEST_F(SvmTest, WithRetriedFaultsGpusReachAllThatTheProcessHas) {
  EXPECT_TRUE(svm_.can_retry());
  svm_.set_xnack(true);
  EXPECT_TRUE(mapped(1, 0, kPages));
  EXPECT_EQ(access(0, 4, 1), uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS});
  mprotect(reinterpret_cast<void*>(base_ + (kPages - 1) * kPage), kPage, PROT_NONE);
  EXPECT_FALSE(mapped(1, 0, kPages));
  EXPECT_FALSE(svm_.is_mapped(0, 64, 4));
  config_.gpus[1].model = "gfx906";
  EXPECT_FALSE(svm_.can_retry());
}

TEST_F(SvmTest, APrefetchIsToldWhereItMoves) {
  std::vector<Svm::Migration> told;
  svm_.on_migration([&](const Svm::Migration& migration) { told.push_back(migration); });
  ASSERT_EQ(set(0, 8, {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, gpu_id(1)}}), 0);
  // Half of it has attributes already.
  ASSERT_EQ(set(4, 8, {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, gpu_id(1)}}), 0);
  ASSERT_EQ(set(0, 4, {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0}}), 0);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].bytes, 8 * kPage);
  EXPECT_EQ(told[0].to, gpu_id(1));
  EXPECT_EQ(told[1].start, base_ + 8 * kPage);
  EXPECT_EQ(told[1].bytes, 4 * kPage);
  EXPECT_EQ(told[2].from, gpu_id(1));
  EXPECT_EQ(told[2].to, 0u);
  EXPECT_EQ(get(0, 8, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC).value, kUndefined);
}

}  // namespace
}  // namespace softgpu
