#include "backends/itt/pointer_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace sonde::itt {
namespace {

const void* address(uint64_t n) { return reinterpret_cast<const void*>(0x10000 + 16 * n); }

TEST(PointerTable, KnowsEachPairOnce) {
  auto table = std::make_unique<PointerTable>();
  PointerTable::Entry* a = entry_of(*table, address(1), address(2));
  EXPECT_EQ(a->interned, 0u);
  EXPECT_EQ(a->value, 0u);
  EXPECT_EQ(entry_of(*table, address(1), address(2)), a);
  EXPECT_NE(entry_of(*table, address(2), address(1)), a);
  EXPECT_NE(entry_of(*table, address(1), nullptr), a);
}

TEST(PointerTable, SaysWhenItIsFull) {
  auto table = std::make_unique<PointerTable>();
  for (uint64_t i = 0; i < kPointers; ++i)
    ASSERT_NE(entry_of(*table, address(i), nullptr), nullptr);
  EXPECT_EQ(entry_of(*table, address(kPointers), nullptr), nullptr);
  EXPECT_NE(entry_of(*table, address(7), nullptr), nullptr);
}

TEST(PointerTable, ThreadsAgree) {
  auto table = std::make_unique<PointerTable>();
  std::vector<std::vector<PointerTable::Entry*>> found(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&table, mine = &found[t]] {
      for (uint64_t i = 0; i < 2000; ++i) mine->push_back(entry_of(*table, address(i), nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, found[0]);
  EXPECT_EQ(std::set<PointerTable::Entry*>(found[0].begin(), found[0].end()).size(), 2000u);
}

}  // namespace
}  // namespace sonde::itt
