// Waves in isolation: why they stop, where they continue, and that they touch no memory but their
// own.
#include <gtest/gtest.h>

#include <vector>

#include "isa/group.h"
#include "isa/program.h"
#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

constexpr uint32_t kEnd = 0xbf810000;

struct Code {
  std::vector<uint32_t> words;
  Program program;
  explicit Code(std::vector<uint32_t> given)
      : words(std::move(given)),
        program(sonde::gpu::Architecture::kGfx90a, reinterpret_cast<uint64_t>(words.data()),
                words.size() * 4) {}
  uint64_t begin() const { return reinterpret_cast<uint64_t>(words.data()); }
};

struct LoneWave : Machine {
  explicit LoneWave(const Code& code) {
    wave->mode = kUsualFloatMode;
    wave->pc = code.begin();
    group.lds_bytes = 64;
    group.private_bytes = 16;
  }
};

TEST(Run, StopsAtBudgetBarrierAndEndAndGoesOn) {
  Code code({0xbf800000, 0xbf8a0000, 0xbf800000, kEnd});  // s_nop, s_barrier, s_nop, s_endpgm
  LoneWave lone(code);
  run(*lone.wave, code.program, 1);
  EXPECT_EQ(lone.wave->stop, Stop::kBudget);
  run(*lone.wave, code.program, 100);
  EXPECT_EQ(lone.wave->stop, Stop::kBarrier);
  EXPECT_EQ(lone.wave->pc, code.begin() + 8);
  run(*lone.wave, code.program, 100);
  EXPECT_EQ(lone.wave->stop, Stop::kEnd);
  EXPECT_EQ(lone.wave->executed, 4U);
}

TEST(Run, WhatItDoesNotKnowIsNamedWithItsPlace) {
  Code code({0xbf800000, 0xf0001100, 0x00000000, kEnd});  // image_load
  LoneWave lone(code);
  run(*lone.wave, code.program, 100);
  EXPECT_EQ(lone.wave->stop, Stop::kUnknownInstruction);
  EXPECT_EQ(lone.wave->pc, code.begin() + 4);
  EXPECT_EQ(name_of(*code.program.at(lone.wave->pc)), "0xf0001100");
  // v_screen_partition_4se_b32 v0, v0: in the opcode table, but not implemented
  Code other({0x7e006f00, kEnd});
  LoneWave second(other);
  run(*second.wave, other.program, 100);
  EXPECT_EQ(second.wave->stop, Stop::kUnknownInstruction);
  EXPECT_EQ(name_of(*other.program.at(second.wave->pc)), "v_screen_partition_4se_b32");
}

TEST(Run, CodeThatRunsOutOfItsTextStops) {
  Code code({0xbf800000});
  LoneWave lone(code);
  run(*lone.wave, code.program, 100);
  EXPECT_EQ(lone.wave->stop, Stop::kOutsideCode);
  Code loop({0xbf82ffff});  // s_branch to itself
  LoneWave endless(loop);
  run(*endless.wave, loop.program, 1000);
  EXPECT_EQ(endless.wave->stop, Stop::kBudget);
  EXPECT_EQ(endless.wave->executed, 1000U);
}

TEST(Run, LocalAndPrivateMemoryEndWhereTheyEnd) {
  Code code({0xd86c0004, 0x02000000, kEnd});  // ds_read_b32 v2, v0 offset:4
  LoneWave lone(code);
  lone.lds[8] = 7;
  for (uint32_t lane = 0; lane < kLanes; ++lane) lone.wave->v[0][lane] = lane == 0 ? 4 : 60;
  run(*lone.wave, code.program, 100);
  EXPECT_EQ(lone.wave->stop, Stop::kEnd);
  EXPECT_EQ(lone.wave->v[2][0], 7U);
  EXPECT_EQ(lone.wave->v[2][1], 0U);
  Code store({0xdc704008, 0x00000100, kEnd});  // scratch_store_dword off, v1, s0 offset:8
  LoneWave inside(store);
  for (uint32_t lane = 0; lane < kLanes; ++lane) inside.wave->v[1][lane] = lane;
  inside.wave->s[0] = 4;
  run(*inside.wave, store.program, 100);
  EXPECT_EQ(inside.wave->stop, Stop::kEnd);
  EXPECT_EQ(inside.own[3 * 256 + 4 * 5], 5);  // the fourth dword of lane 5
  LoneWave outside(store);
  outside.wave->s[0] = 8;
  run(*outside.wave, store.program, 100);
  EXPECT_EQ(outside.wave->stop, Stop::kMemoryViolation);
}

TEST(Run, ChangedCodeIsNoticed) {
  Code code({0xbf800000, kEnd});
  LoneWave lone(code);
  run(*lone.wave, code.program, 100);
  EXPECT_TRUE(code.program.is_current());
  code.words[0] = 0xbf800001;
  EXPECT_FALSE(code.program.is_current());
}

Launch launch_of(Code& code) {
  Launch launch;
  launch.program = &code.program;
  launch.entry = code.begin();
  launch.descriptor.rsrc1 = kUsualFloatMode << 12;
  launch.descriptor.rsrc2 = 1 << 7;  // the group's x in s0
  launch.lds_bytes = 64;
  launch.private_bytes = 16;
  return launch;
}

// v_mov_b32 v1, 0; v_mov_b32 v2, 1; ds_add_u32 v1, v2; s_barrier; ds_read_b32 v3, v1; s_endpgm:
// every wave sees what all have added, and the partial wave adds less.
TEST(Group, WavesMeetAtBarriers) {
  Code code(
      {0x7e020280, 0x7e040281, 0xd8000000, 0x00000201, 0xbf8a0000, 0xd86c0000, 0x03000001, kEnd});
  GroupRunner runner;
  const Launch launch = launch_of(code);
  const Outcome outcome = run_group(runner, launch, {5, 0, 0}, {100, 1, 1});
  EXPECT_EQ(outcome.kind, Outcome::kDone) << outcome.detail;
  EXPECT_EQ(runner.last()->v[3][0], 100U);
  EXPECT_EQ(runner.last()->s[0], 5U);
  EXPECT_EQ(runner.last()->exec(), (uint64_t{1} << 36) - 1);
  EXPECT_EQ(runner.executed(), 12U);
}

// s_sleep 1; s_barrier; s_endpgm: a group whose waves all sleep yields, and later continues where
// it was.
TEST(Group, StandsAsideWhileItsWavesSleep) {
  Code code({0xbf8e0001, 0xbf8a0000, kEnd});
  GroupRunner runner;
  const Launch launch = launch_of(code);
  ASSERT_TRUE(runner.begin(launch, {0, 0, 0}, {128, 1, 1}, 0));
  EXPECT_EQ(runner.resume().kind, Outcome::kDone);
  EXPECT_TRUE(runner.is_waiting());
  EXPECT_EQ(runner.executed(), 0U);
  for (int turn = 0; turn < 3 && runner.is_waiting(); ++turn)
    EXPECT_EQ(runner.resume().kind, Outcome::kDone);
  EXPECT_FALSE(runner.is_waiting());
  EXPECT_EQ(runner.executed(), 6U);
}

// A host memory fault is reported as the kernel's, and the wave can still be inspected.
TEST(Group, FaultsLeaveTheWaveAsItWas) {
  install_fault_handlers();
  FaultStack stack;
  Code code({0xbe810087, 0xdc508000, 0x027f0000,
             kEnd});  // s_mov_b32 s1, 7; global_load_dword v2, v[0:1], off
  GroupRunner runner;
  const Launch launch = launch_of(code);
  const Outcome outcome = run_group(runner, launch, {0, 0, 0}, {1, 1, 1});
  EXPECT_EQ(outcome.kind, Outcome::kMemoryFault);
  EXPECT_EQ(outcome.address, 0U);
  EXPECT_EQ(runner.last()->s[1], 7U);
  Code trap({0xbf920002, kEnd});
  const Launch other = launch_of(trap);
  const Outcome trapped = run_group(runner, other, {0, 0, 0}, {1, 1, 1});
  EXPECT_EQ(trapped.kind, Outcome::kTrap);
  EXPECT_NE(trapped.detail.find("trap 2"), std::string::npos);
}

}  // namespace
}  // namespace softgpu::isa
