// Traps: what a trap handler sees, that it can return, and what its group reports when it halts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "isa/group.h"
#include "isa/program.h"
#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

constexpr uint32_t kEnd = 0xbf810000;

// Returns from trap 1. For others it stores the number and what else it sees, and halts.
const std::vector<uint32_t> kHandler = {
    0x92eeff6d, 0x00080010,  // s_bfe_u32 ttmp2, ttmp1, 0x80010
    0x806c846c,              // s_add_u32 ttmp0, ttmp0, 4
    0x826d806d,              // s_addc_u32 ttmp1, ttmp1, 0
    0xbf06816e,              // s_cmp_eq_u32 ttmp2, 1
    0xbf850013,              // s_cbranch_scc1 to the end
    0xc0421bbd, 0x00000000,  // s_store_dword ttmp2, ttmp[14:15], 0x0
    0xb8eff803,              // s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
    0xc0421bfd, 0x00000004,  // s_store_dword ttmp3, ttmp[14:15], 0x4
    0xbef0007e,              // s_mov_b32 ttmp4, exec_lo
    0xbf90000a,              // s_sendmsg sendmsg(MSG_GET_DOORBELL)
    0xbef1007e,              // s_mov_b32 ttmp5, exec_lo
    0xc0421c7d, 0x00000008,  // s_store_dword ttmp5, ttmp[14:15], 0x8
    0xbefe0070,              // s_mov_b32 exec_lo, ttmp4
    0xc0421d3d, 0x0000000c,  // s_store_dword ttmp8, ttmp[14:15], 0xc
    0xc0421dfd, 0x00000010,  // s_store_dword ttmp11, ttmp[14:15], 0x10
    0xc0421cbd, 0x00000014,  // s_store_dword ttmp6, ttmp[14:15], 0x14
    0xbef81a8d,              // s_bitset1_b32 ttmp12, 13
    0xbf800000,              // s_nop 0
    0xb978f802,              // s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    0xbe801f6c,              // s_rfe_b64 ttmp[0:1]
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Trapping {
  std::vector<uint32_t> code, handler = kHandler;
  std::vector<uint32_t> memory = std::vector<uint32_t>(8);
  std::unique_ptr<Program> program;
  GroupRunner runner;
  Watch watch;
  std::string log_path, told, logged;  // what was told and logged before the handler ran

  Outcome run(std::vector<uint32_t> words, uint32_t items = 64) {
    code = std::move(words);
    std::fill(memory.begin(), memory.end(), 0xeeeeeeee);
    const auto of = [](std::vector<uint32_t>& place) {
      return std::make_unique<Program>(sonde::gpu::Architecture::kGfx90a,
                                       reinterpret_cast<uint64_t>(place.data()), place.size() * 4);
    };
    program = of(code);
    Launch launch;
    launch.program = program.get();
    launch.entry = program->begin();
    launch.descriptor.rsrc1 = kUsualFloatMode << 12;
    launch.private_bytes = 16;
    launch.trap_handler = {of(handler), reinterpret_cast<uint64_t>(handler.data()),
                           reinterpret_cast<uint64_t>(memory.data())};
    if (watch.is_needed()) launch.watch = &watch;
    launch.context = this;
    launch.fails = [](void* context, const Outcome& outcome) {
      auto& self = *static_cast<Trapping*>(context);
      self.told = outcome.detail;
      self.logged = contents(self.log_path);
      EXPECT_EQ(self.memory[0], 0xeeeeeeeeu) << "the handler has stored already";
    };
    launch.doorbell = 77;
    launch.ring_packet = 0x1234567;
    return run_group(runner, launch, {9, 0, 0}, {items, 1, 1});
  }
};

// s_mov_b32 s2, 1; s_cmp_eq_u32 s2, 2; s_trap 1; s_cselect_b32 s1, 5, 6: SCC is 0 again.
TEST(Trap, WhatTheHandlerReturnsFromGoesOn) {
  Trapping trapping;
  const Outcome outcome = trapping.run({0xbe820081, 0xbf068202, 0xbf920001, 0x85018685, kEnd}, 100);
  EXPECT_EQ(outcome.kind, Outcome::kDone) << outcome.detail;
  EXPECT_EQ(trapping.runner.last()->s[1], 6u);
  EXPECT_EQ(trapping.runner.last()->exec(), (uint64_t{1} << 36) - 1);
  EXPECT_EQ(trapping.memory[0], 0xeeeeeeeeu);
}

TEST(Trap, WhatTheHandlerHaltsIsTold) {
  Trapping trapping;
  const Outcome outcome = trapping.run({0xbf800000, 0xbf920002, kEnd});
  EXPECT_EQ(outcome.kind, Outcome::kTrap);
  EXPECT_TRUE(outcome.is_told);
  EXPECT_NE(outcome.detail.find("trap 2"), std::string::npos) << outcome.detail;
  EXPECT_EQ(trapping.memory[0], 2u);
  EXPECT_EQ(trapping.memory[1], 0u);
  EXPECT_EQ(trapping.memory[2], 77u);
  EXPECT_EQ(trapping.memory[3], 9u);
  EXPECT_EQ(trapping.memory[4], 0u);
  EXPECT_EQ(trapping.memory[5], 0x1234567u);
  EXPECT_EQ(trapping.runner.last()->pc, trapping.program->begin() + 8);
}

TEST(Trap, IllegalInstructionsAndViolationsHaveTheirCause) {
  Trapping trapping;
  Outcome outcome = trapping.run({0x7e006f00, kEnd});  // v_screen_partition_4se_b32
  EXPECT_EQ(outcome.kind, Outcome::kIllegalInstruction);
  EXPECT_TRUE(outcome.is_told);
  EXPECT_EQ(trapping.memory[0], 0u);
  EXPECT_EQ(trapping.memory[1], 1u << 11);
  outcome =
      trapping.run({0xdc704ff0, 0x00000100, kEnd});  // scratch_store_dword off, v1, s0 offset:4080
  EXPECT_EQ(outcome.kind, Outcome::kApertureViolation);
  EXPECT_EQ(trapping.memory[1], 1u << 8);
}

TEST(Trap, HandlersThatFailAndWhatOnlyTheyMayDo) {
  Trapping trapping;
  trapping.handler = {0xbf920002, kEnd};  // s_trap 2
  Outcome outcome = trapping.run({0xbf920002, kEnd});
  EXPECT_EQ(outcome.kind, Outcome::kTrap);
  EXPECT_FALSE(outcome.is_told);
  trapping.handler = kHandler;
  outcome = trapping.run({0xbe801f00, kEnd});  // s_rfe_b64 s[0:1]
  EXPECT_EQ(outcome.kind, Outcome::kIllegalInstruction);
  outcome = trapping.run({0xbf8d0001, kEnd});  // s_sethalt 1
  EXPECT_EQ(outcome.kind, Outcome::kTrap);
  EXPECT_FALSE(outcome.is_told);
  EXPECT_NE(outcome.detail.find("halts"), std::string::npos);
}

// ROCr aborts the program as soon as its handler has stored the error.
TEST(Trap, AFailureIsToldAndLoggedOnceBeforeTheHandlerRuns) {
  const std::string path = testing::TempDir() + "/waves_of_traps." + std::to_string(getpid());
  for (const auto& [instruction, why] : {std::pair(0xbf920002U, "\"trap\""),  // s_trap 2
                                         std::pair(0x7e006f00U, "\"illegal_instruction\"")}) {
    WaveLog log;
    ASSERT_TRUE(log.open(path, 0));
    Trapping trapping;
    trapping.watch.waves = &log;
    trapping.log_path = path;
    EXPECT_TRUE(trapping.run({instruction, kEnd}).is_told);
    EXPECT_NE(trapping.told, "");
    EXPECT_NE(trapping.logged.find(why), std::string::npos) << trapping.logged;
    EXPECT_EQ(trapping.logged, contents(path));
    unlink(path.c_str());
  }
}

// Counts host traps at the start of its memory, and stores the trap's number and the work group.
// Changes SCC, which it must restore.
const std::vector<uint32_t> kCountingHandler = {
    0xbf0d986d,              // s_bitcmp1_b32 ttmp1, 24
    0xbf840009,              // s_cbranch_scc0 past the rest
    0x92eeff6d, 0x00090010,  // s_bfe_u32 ttmp2, ttmp1, 0x90010
    0xc0421bbd, 0x00000008,  // s_store_dword ttmp2, ttmp[14:15], 0x8
    0xc0461d3d, 0x00000010,  // s_store_dwordx2 ttmp[8:9], ttmp[14:15], 0x10
    0xbef00181,              // s_mov_b64 ttmp[4:5], 1
    0xc28a1c3d, 0x00000000,  // s_atomic_add_x2 ttmp[4:5], ttmp[14:15], 0x0
    0xbf066e6e,              // s_cmp_eq_u32 ttmp2, ttmp2
    0xbf800000,              // s_nop 0
    0xb978f802,              // s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    0xbe801f6c,              // s_rfe_b64 ttmp[0:1]
};
// Counts to 100,000 in s0.
const std::vector<uint32_t> kLoop = {0xbe800080,              // s_mov_b32 s0, 0
                                     0xbe8100ff, 0x000186a0,  // s_mov_b32 s1, 100000
                                     0x80008100,              // s_add_u32 s0, s0, 1
                                     0xbf0a0100,              // s_cmp_lt_u32 s0, s1
                                     0xbf800000, 0xbf800000,  // s_nop 0
                                     0xbf85fffb,              // s_cbranch_scc1 to the addition
                                     kEnd};

struct HostTrapping {
  std::vector<uint32_t> code = kLoop, handler = kCountingHandler;
  alignas(16) uint64_t memory[4] = {};
  HostTraps traps;
  GroupRunner runner;
  TrapHandler now;

  static std::shared_ptr<Program> of(std::vector<uint32_t>& place) {
    return std::make_shared<Program>(sonde::gpu::Architecture::kGfx90a,
                                     reinterpret_cast<uint64_t>(place.data()), place.size() * 4);
  }
  Outcome run() {
    const auto program = of(code);
    now = {of(handler), reinterpret_cast<uint64_t>(handler.data()),
           reinterpret_cast<uint64_t>(memory)};
    Launch launch;
    launch.program = program.get();
    launch.entry = program->begin();
    launch.descriptor.rsrc1 = kUsualFloatMode << 12;
    launch.context = this;
    launch.host_traps = &traps;
    launch.handler_now = [](void* self) { return static_cast<HostTrapping*>(self)->now; };
    return run_group(runner, launch, {9, 8, 0}, {64, 1, 1});
  }
};

TEST(HostTrap, RunsTheHandlerWhileTheWaveRunsAndChangesNothing) {
  HostTrapping machine;
  machine.traps.start(std::chrono::nanoseconds(1));
  const Outcome outcome = machine.run();
  EXPECT_EQ(outcome.kind, Outcome::kDone) << outcome.detail;
  EXPECT_EQ(machine.runner.last()->s[0], 100'000u);
  EXPECT_EQ(machine.runner.executed(), 500'003u);
  // Host traps are taken at places that are about 512 instructions apart.
  EXPECT_GT(machine.memory[0], 700u);
  EXPECT_LT(machine.memory[0], 1300u);
  EXPECT_EQ(machine.memory[1], 0x104u);
  EXPECT_EQ(machine.memory[2], 8ULL << 32 | 9);
  machine.traps.stop();
  machine.memory[0] = 0;
  EXPECT_EQ(machine.run().kind, Outcome::kDone);
  EXPECT_EQ(machine.memory[0], 0u);
}

TEST(HostTrap, ComesOncePerInterval) {
  HostTrapping machine;
  machine.traps.start(std::chrono::hours(24 * 365 * 50));
  EXPECT_EQ(machine.run().kind, Outcome::kDone);
  EXPECT_EQ(machine.memory[0], 0u);  // the interval is read when the machine starts
}

TEST(HostTrap, NeedsAHandlerWithMemoryThatGoesOn) {
  HostTrapping machine;
  machine.traps.start(std::chrono::nanoseconds(1));
  machine.handler = {0xbf920002, kEnd};  // s_trap 2
  const Outcome outcome = machine.run();
  EXPECT_EQ(outcome.kind, Outcome::kTrap);
  machine.traps.stop();  // does not wait for the failed one
}

TEST(HostTrap, AStopWaitsForWhoIsInTheHandler) {
  HostTraps traps;
  traps.start(std::chrono::nanoseconds(1));
  int64_t last = 0;
  ASSERT_TRUE(traps.enter(last));
  std::atomic<bool> has_stopped{false}, has_left{false};
  std::thread stopper([&] {
    traps.stop();
    has_stopped = true;
    EXPECT_TRUE(has_left);
  });
  while (traps.is_on()) std::this_thread::yield();
  EXPECT_FALSE(traps.enter(last));
  EXPECT_FALSE(has_stopped);
  has_left = true;
  traps.leave();
  stopper.join();
  EXPECT_TRUE(has_stopped);
}

}  // namespace
}  // namespace softgpu::isa
