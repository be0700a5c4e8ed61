#include "driver/freed_ranges.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace softgpu {
namespace {

constexpr uint64_t kMiB = 1 << 20;

uint64_t map(uint64_t bytes) {
  return reinterpret_cast<uint64_t>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// "rw-p", or "" if nothing is mapped.
std::string permissions(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char text[8] = {};
    std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, text);
    if (address >= begin && address < end) return text;
  }
  return "";
}

TEST(FreedRanges, WhatIsUnmappedAfterItWasFreedStaysReserved) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t at = map(4 * kMiB);
  freed->add(at + kMiB, kMiB);
  ASSERT_TRUE(freed->keep(at, 4 * kMiB));  // the whole range that the program unmaps
  EXPECT_EQ(permissions(at), "---p");
  EXPECT_EQ(permissions(at + 4 * kMiB - 1), "---p");
  freed->give_up(at, 4 * kMiB, false);
}

TEST(FreedRanges, OthersAreUnmappedAsEver) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t at = map(2 * kMiB);
  EXPECT_FALSE(freed->keep(at, kMiB));
  freed->add(at, kMiB);
  EXPECT_FALSE(freed->keep(at + kMiB, kMiB));
  freed->remove(at + 4096, 4096);  // it is GPU memory again
  EXPECT_FALSE(freed->keep(at, kMiB));
  munmap(reinterpret_cast<void*>(at), 2 * kMiB);
}

TEST(FreedRanges, AnAddressIsKeptOnceForEachTimeThatItIsFreed) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t at = map(kMiB);
  freed->add(at, kMiB);
  ASSERT_TRUE(freed->keep(at, kMiB));
  EXPECT_FALSE(freed->keep(at, kMiB));
  freed->give_up(at, kMiB, false);
}

TEST(FreedRanges, TheOldestGoWhereThereAreTooMany) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t at = map(2 * FreedRanges::kMost * 8192);
  for (uint64_t i = 0; i < FreedRanges::kMost + 10; ++i) {
    freed->add(at + i * 8192, 4096);
    ASSERT_TRUE(freed->keep(at + i * 8192, 4096));
  }
  EXPECT_EQ(permissions(at), "");
  EXPECT_EQ(permissions(at + 9 * 8192), "");
  EXPECT_EQ(permissions(at + 10 * 8192), "---p");
  munmap(reinterpret_cast<void*>(at), 2 * FreedRanges::kMost * 8192);
}

TEST(FreedRanges, ThereIsABoundOfAllTheirBytes) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t half = FreedRanges::kMostBytes / 2;
  const auto reserve = [](uint64_t bytes) {
    return reinterpret_cast<uint64_t>(
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  };
  const uint64_t first = reserve(half + kMiB), second = reserve(half);
  freed->add(first, kMiB);
  ASSERT_TRUE(freed->keep(first, half + kMiB));
  freed->add(second, kMiB);
  ASSERT_TRUE(freed->keep(second, half));
  EXPECT_EQ(permissions(first), "");
  EXPECT_EQ(permissions(second), "---p");
  freed->give_up(second, half, false);
  EXPECT_EQ(permissions(second), "");
  freed->add(first, kMiB);
  EXPECT_FALSE(freed->keep(first, FreedRanges::kMostBytes + kMiB));  // exceeds the limit
}

TEST(FreedRanges, WhoMapsAtExactlyThatPlaceGetsIt) {
  const auto freed = std::make_unique<FreedRanges>();
  const uint64_t at = map(4 * kMiB);
  freed->add(at, 4 * kMiB);
  ASSERT_TRUE(freed->keep(at, 4 * kMiB));
  freed->give_up(at + kMiB, kMiB, true);  // being replaced: no other thread gets it meanwhile
  EXPECT_EQ(permissions(at), "");
  EXPECT_EQ(permissions(at + kMiB), "---p");
  EXPECT_EQ(permissions(at + 2 * kMiB), "");
  munmap(reinterpret_cast<void*>(at + kMiB), kMiB);
}

}  // namespace
}  // namespace softgpu
