// Command buffers: the effects of single packets on memory and on counter registers.
#include "device/pm4.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "config/models.h"
#include "device/rig.h"

namespace softgpu::testing {
namespace {

constexpr uint32_t kAll = 0xe0000000;  // of GRBM_GFX_INDEX
uint32_t one(uint32_t engine, uint32_t instance) { return 1U << 29 | engine << 16 | instance; }

struct Machine {
  FakeHost host;
  GpuMemory memory{host, 0};
  GpuConfig config = *make_gpu("gfx90a");
  PerfRegisters registers{config};
  Pm4 pm4{memory, registers, config.clock};
  std::vector<uint32_t> commands;
  int64_t now_ns = 1000;

  void put(uint32_t opcode, std::initializer_list<uint32_t> words) {
    commands.push_back(3U << 30 | static_cast<uint32_t>(words.size() - 1) << 16 | opcode << 8);
    commands.insert(commands.end(), words);
  }
  void set(uint32_t number, uint32_t value) {
    number >= 0xc000 ? put(0x79, {number - 0xc000, value}) : put(0x76, {number - 0x2c00, value});
  }
  Pm4::Result go_on() { return pm4.run(now_ns); }
  Pm4::Result run() {
    AqlPm4Ib packet{};
    packet.jump[0] = 3U << 30 | 2U << 16 | 0x3fU << 8;
    packet.jump[1] = low(commands.data());
    packet.jump[2] = high(commands.data());
    packet.jump[3] = static_cast<uint32_t>(commands.size()) | 1U << 23;
    pm4.begin(packet);
    const Pm4::Result result = go_on();
    if (result == Pm4::Result::kDone) commands.clear();
    return result;
  }
};

TEST(Pm4, WritesAndCopiesMemory) {
  Machine machine;
  alignas(8) uint64_t to[4] = {}, from = 0x1122334455667788;
  machine.put(0x37, {5U << 8, low(&to[0]), high(&to[0]), 7, 8});      // WRITE_DATA
  machine.put(0x40, {5 | 5U << 8, 9, 0, low(&to[1]), high(&to[1])});  // COPY_DATA
  machine.put(0x40, {1 | 5U << 8 | 1U << 16, low(&from), high(&from), low(&to[2]), high(&to[2])});
  machine.put(0x49, {0, 1U << 29, low(&to[3]), high(&to[3]), 5, 0, 0});  // RELEASE_MEM
  machine.put(0x58, {0, 0, 0, 0, 0, 0});
  machine.put(0x46, {0x407});
  machine.put(0x10, {1, 2, 3});
  machine.commands.push_back(0x80000000);  // filler
  machine.commands.push_back(0xffff1000);
  EXPECT_EQ(machine.run(), Pm4::Result::kDone) << machine.pm4.problem();
  EXPECT_EQ(to[0], 8ULL << 32 | 7);
  EXPECT_EQ(to[1], 9U);
  EXPECT_EQ(to[2], from);
  EXPECT_EQ(to[3], 5U);
}

TEST(Pm4, ExchangesAndGivesBackWhatWasThere) {
  Machine machine;
  alignas(8) uint64_t place = 0x1122334455667788, old = 0;
  machine.put(0x1e, {39, low(&place), high(&place), 7, 8, 0, 0, 0});  // ATOMIC_MEM, SWAP_RTN_64
  machine.put(0x40, {6 | 2U << 8 | 1U << 16, 0, 0, low(&old), high(&old)});  // COPY_DATA
  EXPECT_EQ(machine.run(), Pm4::Result::kDone) << machine.pm4.problem();
  EXPECT_EQ(place, 8ULL << 32 | 7);
  EXPECT_EQ(old, 0x1122334455667788u);
  machine.put(0x1e, {7, low(&place), high(&place), 5, 0, 0, 0, 0});  // SWAP_RTN_32
  machine.put(0x40, {6 | 2U << 8 | 1U << 16, 0, 0, low(&old), high(&old)});
  EXPECT_EQ(machine.run(), Pm4::Result::kDone) << machine.pm4.problem();
  EXPECT_EQ(place, 8ULL << 32 | 5);
  EXPECT_EQ(old, 7u);
  machine.put(0x1e, {15, low(&place), high(&place), 5, 0, 0, 0, 0});  // ADD_RTN_32
  EXPECT_EQ(machine.run(), Pm4::Result::kBadPacket);
  Machine askew;
  askew.put(0x1e, {39, low(&place) + 4, high(&place), 5, 0, 0, 0, 0});
  EXPECT_EQ(askew.run(), Pm4::Result::kBadPacket);
  Machine hole;
  hole.host.unmap(reinterpret_cast<uint64_t>(&place), 8);
  hole.put(0x1e, {39, low(&place), high(&place), 5, 0, 0, 0, 0});
  EXPECT_EQ(hole.run(), Pm4::Result::kFault);
  EXPECT_EQ(hole.pm4.fault_address(), reinterpret_cast<uint64_t>(&place));
}

TEST(Pm4, CopiesFromMemoryToMemory) {
  Machine machine;
  std::vector<uint32_t> from = {1, 2, 3}, to(3);
  constexpr uint32_t kByL2 = 3U << 29 | 3U << 20;
  machine.put(0x50, {kByL2, low(&from[0]), high(&from[0]), low(&to[0]), high(&to[0]), 8});
  EXPECT_EQ(machine.run(), Pm4::Result::kDone) << machine.pm4.problem();
  EXPECT_EQ(to, (std::vector<uint32_t>{1, 2, 0}));
  machine.put(0x50, {2U << 29, 7, 0, low(&to[0]), high(&to[0]), 8});  // a value
  EXPECT_EQ(machine.run(), Pm4::Result::kBadPacket);
  Machine hole;
  hole.host.unmap(reinterpret_cast<uint64_t>(&to[0]), 12);
  hole.put(0x50, {kByL2, low(&from[0]), high(&from[0]), low(&to[0]), high(&to[0]), 8});
  EXPECT_EQ(hole.run(), Pm4::Result::kFault);
}

TEST(Pm4, WaitsForAValueAndGoesOn) {
  Machine machine;
  uint32_t flag = 0xff01, done = 0;
  machine.put(0x3c,
              {3 | 1U << 4, low(&flag), high(&flag), 2, 0xff, 10});  // until the low byte is 2
  machine.put(0x37, {5U << 8, low(&done), high(&done), 1});
  EXPECT_EQ(machine.run(), Pm4::Result::kWaits);
  EXPECT_EQ(machine.go_on(), Pm4::Result::kWaits);
  EXPECT_EQ(done, 0U);
  flag = 0xff02;
  EXPECT_EQ(machine.go_on(), Pm4::Result::kDone);
  EXPECT_EQ(done, 1U);
}

TEST(Pm4, BuffersMayCallOthersButNotWithoutEnd) {
  Machine machine;
  uint32_t done = 0;
  std::vector<uint32_t> other = {3U << 30 | 3U << 16 | 0x37 << 8, 5U << 8, low(&done), high(&done),
                                 4};
  machine.put(0x3f, {low(other.data()), high(other.data()), 5});
  EXPECT_EQ(machine.run(), Pm4::Result::kDone);
  EXPECT_EQ(done, 4U);
  Machine endless;
  endless.commands.reserve(4);
  endless.put(0x3f, {low(endless.commands.data()), high(endless.commands.data()), 4});
  EXPECT_EQ(endless.run(), Pm4::Result::kBadPacket);
}

TEST(Pm4, WhatCannotBeRunIsTold) {
  Machine unknown;
  unknown.put(0x15, {0, 0, 0, 0});  // DISPATCH_DIRECT
  EXPECT_EQ(unknown.run(), Pm4::Result::kBadPacket);
  EXPECT_EQ(unknown.pm4.problem(), "unknown PM4 packet 0x15");
  Machine cut;
  cut.commands = {3U << 30 | 9U << 16 | 0x37 << 8, 0};
  EXPECT_EQ(cut.run(), Pm4::Result::kBadPacket);
  Machine brief;
  brief.put(0x40, {5 | 5U << 8});
  EXPECT_EQ(brief.run(), Pm4::Result::kBadPacket);
  Machine type0;
  type0.commands = {0x00001234, 0};
  EXPECT_EQ(type0.run(), Pm4::Result::kBadPacket);
  Machine hole;
  alignas(8) uint64_t value = 0;
  hole.host.unmap(reinterpret_cast<uint64_t>(&value), 8);
  hole.put(0x37, {5U << 8, low(&value), high(&value), 1});
  EXPECT_EQ(hole.run(), Pm4::Result::kFault);
  EXPECT_EQ(hole.pm4.fault_address(), reinterpret_cast<uint64_t>(&value));
}

struct Session : Machine {
  uint64_t read(uint32_t index, uint32_t low_register) {
    alignas(8) uint64_t value = ~uint64_t{0};
    set(kGrbmGfxIndex, index);
    put(0x40, {4 | 5U << 8 | 1U << 16, low_register, 0, low(&value), high(&value)});
    EXPECT_EQ(run(), Pm4::Result::kDone);
    return value;
  }
  void start() {
    set(kComputePerfcountEnable, 1);
    set(kSqPerfcounterControl, 0x7f);
    set(kCpPerfmonControl, 1);
    EXPECT_EQ(run(), Pm4::Result::kDone);
  }
  // Counts like a dispatch.
  void count(counter::Id id, uint64_t group, uint64_t value) {
    isa::Watch watch = registers.watch();
    if (watch.counters == nullptr) return;
    Tally tally{};
    tally[id] = value;
    watch.counters->add(tally, group);
  }
};

TEST(PerfRegisters, CountersAreOfTheEngineThatTheIndexSays) {
  Session session;
  session.set(kCpPerfmonControl, 0);
  session.set(kGrbmGfxIndex, kAll);
  session.set(0xd9c0, 4 | 0xfU << 24);   // SQ_PERFCOUNTER0: SQ_WAVES
  session.set(0xd9c1, 26 | 0xfU << 24);  // SQ_PERFCOUNTER1: SQ_INSTS_VALU
  session.set(kGrbmGfxIndex, one(0, 3));
  session.set(0xdac0, 32);  // TA of unit 3 of engine 0
  session.start();
  session.count(counter::SQ_WAVES, 5, 4);        // engine 5
  session.count(counter::SQ_WAVES, 110 + 5, 1);  // one round later
  session.count(counter::SQ_INSTS_VALU, 0, 1ULL << 33);
  session.count(counter::TA_TOTAL_WAVEFRONTS, 24, 9);  // engine 0, unit 3
  session.count(counter::TA_TOTAL_WAVEFRONTS, 16, 5);  // unit 2, which is not selected
  EXPECT_EQ(session.read(one(5, 0), 0xd1c0), 5U);
  EXPECT_EQ(session.read(one(4, 0), 0xd1c0), 0U);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c2), 1ULL << 33);
  EXPECT_EQ(session.read(one(0, 3), 0xd2c0), 9U);
  EXPECT_EQ(session.read(one(0, 2), 0xd2c0), 0U);
}

TEST(PerfRegisters, OnlyWhatRunsBetweenStartAndStopCounts) {
  Session session;
  session.set(0xd9c0, 4);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  session.count(counter::SQ_WAVES, 0, 1);
  session.start();
  session.count(counter::SQ_WAVES, 0, 10);
  session.set(kCpPerfmonControl, 2);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  session.count(counter::SQ_WAVES, 0, 100);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c0), 10U);
  session.set(kCpPerfmonControl, 0);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c0), 0U);
  session.start();
  session.count(counter::SQ_WAVES, 0, 3);
  session.set(kGrbmGfxIndex, kAll);
  session.set(0xd9c0, 4);  // selected again: counts from now on
  session.count(counter::SQ_WAVES, 0, 1000);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c0), 0U);
}

TEST(PerfRegisters, NothingCountsWithoutComputeAndRefusedCountersAreZero) {
  Session session;
  session.set(0xd9c0, 4);
  session.set(kCpPerfmonControl, 1);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  EXPECT_FALSE(session.registers.is_counting());
  session.start();
  EXPECT_TRUE(session.registers.is_counting());
  session.set(kGrbmGfxIndex, kAll);
  session.set(0xd9c1, 85);  // SQ_WAIT_ANY
  session.set(kSqPerfcounterControl, 0x3f);
  EXPECT_EQ(session.run(), Pm4::Result::kDone);
  session.count(counter::SQ_WAVES, 0, 3);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c2), 0U);
  EXPECT_EQ(session.read(one(0, 0), 0xd1c0), 0U) << "SQ counts no compute waves";
}

TEST(PerfRegisters, CyclesAreThoseOfTheShaderClock) {
  Session session;
  session.set(0xd840, 0);  // GRBM_COUNT
  session.set(0xd841, 2);  // GRBM_GUI_ACTIVE
  session.start();
  session.registers.kernel_ran(1500, 3500);
  session.now_ns = 11000;
  EXPECT_EQ(session.read(kAll, 0xd040), 17000U);  // 10 us of 1700 MHz
  EXPECT_EQ(session.read(kAll, 0xd043), 3400U);
}

}  // namespace
}  // namespace softgpu::testing
