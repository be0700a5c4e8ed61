#include "export/output/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace sonde::exporting {
namespace {

TEST(Background, WorksOnEveryBlockInOrderAndGivesThemBack) {
  std::string seen;
  Background<std::vector<int>> background({}, [&](std::vector<int>& block) {
    for (const int value : block) seen += std::to_string(value) + " ";
    block.clear();
  });
  std::string expected;
  std::vector<int> block;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(block.empty());  // one that was worked on
    for (int j = 0; j <= i % 3; ++j) {
      block.push_back(i);
      expected += std::to_string(i) + " ";
    }
    background.give(block);
  }
  background.finish();
  EXPECT_EQ(seen, expected);
}

TEST(Background, NothingIsLostWhenItEnds) {
  std::atomic<int> sum = 0;
  {
    Background<int> background(0, [&](int& block) { sum += block; });
    for (int i = 1; i <= 10; ++i) {
      int block = i;
      background.give(block);
    }
  }
  EXPECT_EQ(sum, 55);
}

TEST(Background, GoesOnAfterAFinish) {
  int sum = 0;
  Background<int> background(0, [&](int& block) { sum += block; });
  background.finish();
  EXPECT_EQ(sum, 0);
  for (int i = 1; i <= 2; ++i) {
    int block = i;
    background.give(block);
    background.finish();
  }
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace sonde::exporting
