// The cache model, with requests whose outcome follows from the declared geometry.
#include "isa/caches.h"

#include <gtest/gtest.h>

namespace softgpu::isa {
namespace {

// Two channels with two sets each, of 16 lines of 128 bytes.
struct Model {
  CounterBank bank{{2, 4, 2}};
  CacheModel caches{bank, {2 * 2 * 16 * 128}};
  Model() { caches.begin_dispatch(); }
  void access(Access kind, uint64_t address, uint32_t bytes = 4, uint64_t group = 0) {
    const CacheModel::Bytes all[] = {{address, bytes}};
    caches.access(group, kind, false, all);
  }
  uint64_t sum(counter::Id id) const { return bank.sum(id); }
};

TEST(Caches, LinesOfAnInstructionCountOnceAndHitWhenTheyComeAgain) {
  Model model;
  std::vector<CacheModel::Bytes> lanes;
  for (uint64_t lane = 0; lane < 64; ++lane) lanes.push_back({0x1000 + 4 * lane, 4});
  model.caches.access(0, Access::kLoad, false, lanes);  // 256 bytes: four lines of 64
  EXPECT_EQ(model.sum(counter::TCP_TOTAL_READ), 4U);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 4U);
  EXPECT_EQ(model.sum(counter::TCC_MISS), 2U);  // 128-byte lines
  EXPECT_EQ(model.sum(counter::TCC_HIT), 2U);
  EXPECT_EQ(model.sum(counter::TCC_EA_RDREQ), 4U);
  model.caches.access(0, Access::kLoad, false, lanes);
  EXPECT_EQ(model.sum(counter::TCP_TOTAL_READ), 8U);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 4U) << "the unit has them";
  model.caches.access(1, Access::kLoad, false, lanes);  // another unit
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 8U);
  EXPECT_EQ(model.sum(counter::TCC_MISS), 2U);
  EXPECT_EQ(model.bank.value(counter::TCP_TCC_READ_REQ, 0, 0), 4U);
  EXPECT_EQ(model.bank.value(counter::TCP_TCC_READ_REQ, 1, 0), 4U);
}

TEST(Caches, AnAccessOverTheEndOfALineIsOfTwo) {
  Model model;
  model.access(Access::kStore, 0x103c, 8);
  EXPECT_EQ(model.sum(counter::TCP_TOTAL_WRITE), 2U);
  EXPECT_EQ(model.sum(counter::TCC_WRITE), 2U);
}

TEST(Caches, ChannelsTakeTurnsEvery256Bytes) {
  Model model;
  for (uint64_t i = 0; i < 8; ++i) model.access(Access::kLoad, 256 * i);
  model.access(Access::kLoad, 128);
  EXPECT_EQ(model.bank.value(counter::TCC_REQ, 0, 0), 5U);
  EXPECT_EQ(model.bank.value(counter::TCC_REQ, 0, 1), 4U);
}

TEST(Caches, WhatIsWrittenComesBackOnlyWhenItsSetIsFull) {
  Model model;
  // Lines of channel 0 that map to its first set: 512 bytes apart.
  for (uint64_t i = 0; i < 16; ++i) model.access(Access::kStore, 512 * i);
  EXPECT_EQ(model.sum(counter::TCC_WRITEBACK), 0U);
  model.access(Access::kStore, 0);  // used again: no longer the oldest
  EXPECT_EQ(model.sum(counter::TCC_HIT), 1U);
  model.access(Access::kStore, 512 * 16);
  EXPECT_EQ(model.sum(counter::TCC_WRITEBACK), 1U);
  EXPECT_EQ(model.sum(counter::TCC_EA_WRREQ_64B), 2U);
  model.access(Access::kStore, 0);
  EXPECT_EQ(model.sum(counter::TCC_HIT), 2U);
  model.access(Access::kLoad, 512);  // this one was evicted
  EXPECT_EQ(model.sum(counter::TCC_MISS), 18U);
}

TEST(Caches, AtomicsAndStoresPassTheVectorCacheAndInvalidationsEmptyIt) {
  Model model;
  model.access(Access::kLoad, 0x40);
  model.access(Access::kAtomic, 0x40);
  EXPECT_EQ(model.sum(counter::TCP_TCC_ATOMIC_WITHOUT_RET_REQ), 1U);
  model.access(Access::kLoad, 0x40);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 2U) << "the atomic took it away";
  model.access(Access::kStore, 0x40);
  model.access(Access::kLoad, 0x40);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 2U);
  model.caches.invalidate(0);
  model.access(Access::kLoad, 0x40);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 3U);
  model.caches.begin_dispatch();
  model.access(Access::kLoad, 0x40);
  EXPECT_EQ(model.sum(counter::TCP_TCC_READ_REQ), 4U);
}

TEST(Caches, ADispatchWritesBackAtItsEndAndTheSecondLevelKeepsItsLinesUntilItIsInvalidated) {
  Model model;
  model.access(Access::kStore, 0x1000);
  model.access(Access::kLoad, 0x9000);
  model.caches.end_dispatch();
  EXPECT_EQ(model.sum(counter::TCC_WRITEBACK), 1U);
  EXPECT_EQ(model.sum(counter::TCC_EA_WRREQ_64B), 2U);
  model.caches.end_dispatch();
  EXPECT_EQ(model.sum(counter::TCC_WRITEBACK), 1U) << "it is clean by now";
  model.caches.begin_dispatch();
  model.access(Access::kLoad, 0x1000);
  EXPECT_EQ(model.sum(counter::TCC_HIT), 1U);
  model.caches.invalidate_all();
  model.caches.begin_dispatch();
  model.access(Access::kLoad, 0x1000);
  EXPECT_EQ(model.sum(counter::TCC_HIT), 1U);
  EXPECT_EQ(model.sum(counter::TCC_MISS), 3U);
  EXPECT_EQ(model.sum(counter::TCC_WRITEBACK), 1U);
}

}  // namespace
}  // namespace softgpu::isa
