// The register assignment, what gets no register, and the words of the packets.
#include "aqlprofile/commands.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace softgpu::aqlprofile {
namespace {

constexpr CounterGeometry kGpu{8, 110, 32};

TEST(Commands, EachInstanceHasTheRegistersOfItsBlock) {
  std::vector<Wanted> wanted;
  for (uint32_t i = 0; i < 8; ++i) wanted.push_back({CounterBlock::kSq, 0, 26 + i});
  auto selected = select(wanted, kGpu);
  ASSERT_TRUE(selected);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ((*selected)[i].slot, i);
  EXPECT_EQ(values_of(*selected, kGpu), 64U);
  wanted.push_back({CounterBlock::kSq, 0, 4});
  EXPECT_FALSE(select(wanted, kGpu)) << "there are eight";
  wanted.clear();
  for (uint32_t unit = 0; unit < 14; ++unit) {
    wanted.push_back({CounterBlock::kTa, unit, 32});
    wanted.push_back({CounterBlock::kTa, unit, 100});
  }
  selected = select(wanted, kGpu);
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->back().slot, 1U);
  wanted.push_back({CounterBlock::kTa, 3, 44});
  EXPECT_FALSE(select(wanted, kGpu));
}

TEST(Commands, WhatCannotBeCountedIsRefused) {
  EXPECT_NE(countable({CounterBlock::kSq, 0, 4}, kGpu), nullptr);
  EXPECT_EQ(countable({CounterBlock::kSq, 0, 85}, kGpu), nullptr) << "SQ_WAIT_ANY";
  EXPECT_EQ(countable({CounterBlock::kSq, 0, 9999}, kGpu), nullptr);
  EXPECT_EQ(countable({CounterBlock::kSq, 1, 4}, kGpu), nullptr) << "an engine has one SQ";
  EXPECT_NE(countable({CounterBlock::kTcc, 31, 3}, kGpu), nullptr);
  EXPECT_EQ(countable({CounterBlock::kTcc, 32, 3}, kGpu), nullptr);
  EXPECT_FALSE(select(std::vector<Wanted>{{CounterBlock::kCpc, 0, 25}}, kGpu));
  const CounterGeometry older{8, 120, 32, CounterFamily::kGfx908};
  EXPECT_EQ(countable({CounterBlock::kSq, 0, 45}, older), nullptr);
  EXPECT_EQ(countable({CounterBlock::kSq, 0, 31}, older)->name, "SQ_INSTS_SALU");
  const auto none = select({}, kGpu);
  ASSERT_TRUE(none);
  EXPECT_EQ(values_of(*none, kGpu), 0U);
}

// Walks over type 3 packets: the last word written to each register.
std::vector<std::pair<uint32_t, uint32_t>> sets_in(const Commands& commands) {
  std::vector<std::pair<uint32_t, uint32_t>> sets;
  for (size_t at = 0; at < commands.size();) {
    const uint32_t header = commands[at], count = (header >> 16 & 0x3fff) + 1;
    EXPECT_EQ(header >> 30, 3U);
    const uint32_t opcode = header >> 8 & 0xff;
    if (opcode == 0x79) sets.push_back({commands[at + 1] + 0xc000, commands[at + 2]});
    if (opcode == 0x76) sets.push_back({commands[at + 1] + 0x2c00, commands[at + 2]});
    at += count + 1;
    EXPECT_LE(at, commands.size());
  }
  return sets;
}

TEST(Commands, AreThoseOfASession) {
  const auto selected =
      select(std::vector<Wanted>{{CounterBlock::kSq, 0, 4}, {CounterBlock::kTcc, 5, 17}}, kGpu);
  ASSERT_TRUE(selected);
  using Sets = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(sets_in(start_commands(*selected)), (Sets{{0xc200, 0xe0000000},
                                                      {0xdcbf, 1},
                                                      {0xd808, 0},
                                                      {0xd9e0, 0x7f},
                                                      {0x2e0b, 1},
                                                      {0xc200, 0xa0000000},  // all engines
                                                      {0xd9c0, 0x0f0ff004},
                                                      {0xc200, 0xa0000005},  // channel 5
                                                      {0xdb80, 17},
                                                      {0xc200, 0xe0000000},
                                                      {0xd808, 1}}));
  const Sets reads = sets_in(read_commands(*selected, kGpu, 0x1000));
  ASSERT_EQ(reads.size(), 10U);  // eight engines, one channel, and back to all
  EXPECT_EQ(reads[3].second, 0x20030000U);
  EXPECT_EQ(reads[8].second, 0xa0000005U);
  const Commands stop = stop_commands(*selected, kGpu, 0x12345678000);
  EXPECT_EQ(sets_in(stop).front(), std::make_pair(0xd808U, 2U));
  // The first COPY_DATA: a counter, low half, to the start of the output, confirmed.
  const Commands copy = {0xc0044000, 4 | 2 << 8 | 1 << 20, 0xd1c0, 0, 0x45678000, 0x123};
  EXPECT_NE(std::search(stop.begin(), stop.end(), copy.begin(), copy.end()), stop.end());
}

}  // namespace
}  // namespace softgpu::aqlprofile
