#include "backends/cpu/arming.h"

#include <gtest/gtest.h>

#include <memory>

namespace sonde::cpu {
namespace {

TEST(Arming, WhatEventsMissedIsCounted) {
  const auto self = std::make_unique<ThreadSampler>();
  self->period_ns = 10;
  EXPECT_EQ(count_missed(*self, 10), 0u);
  EXPECT_EQ(count_missed(*self, 10 * (kEvents + 4)), 4u);
}

// This once raised SIGFPE in the program: a division by a period of 0.
TEST(Arming, AStoppedTimersLateSignalHasMissedNothing) {
  const auto self = std::make_unique<ThreadSampler>();
  EXPECT_EQ(count_missed(*self, 10'000'000), 0u);
}

}  // namespace
}  // namespace sonde::cpu
