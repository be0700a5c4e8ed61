// Findings of --check, on hand-made waves: the instruction words are from LLVM's assembler.
#include "isa/check.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "isa/race_shadow.h"
#include "isa/test_machine.h"
#include "isa/watch.h"

namespace softgpu::isa {
namespace {

using Kind = Allocations::Kind;

constexpr uint64_t kPage = 0x1000, kBase = 0x10000;

// Two pages are mapped.
Mapping pages(uint64_t address) {
  if (address < kBase || address >= kBase + 2 * kPage) return {};
  return {kBase, kBase + 2 * kPage};
}

RaceShadow::Mark mark(uint8_t wave, uint8_t lane = 0, uint32_t place = 0) {
  return {place, wave, lane, true};
}

TEST(Allocations, WhatIsBesideABufferIsNobodys) {
  Allocations known(pages);
  EXPECT_EQ(known.find(kBase).kind, Kind::kMapping);  // the runtime's own
  known.add(kBase, 100, false);
  EXPECT_EQ(known.find(kBase + 99).kind, Kind::kBuffer);
  EXPECT_EQ(known.find(kBase + 100).kind, Kind::kBeside);
  EXPECT_EQ(known.find(kBase + 2 * kPage - 1).kind, Kind::kBeside);
  EXPECT_EQ(known.find(kBase + 2 * kPage).kind, Kind::kNowhere);
  EXPECT_EQ(known.find(kBase - 1).kind, Kind::kNowhere);
  EXPECT_TRUE(known.free(kBase));
  EXPECT_FALSE(known.free(kBase));
  EXPECT_EQ(known.find(kBase + 1).kind, Kind::kFreed);
  known.remove(kBase);
  EXPECT_EQ(known.find(kBase + 1).kind, Kind::kMapping);
}

TEST(Allocations, EachChangeHasANewVersion) {
  Allocations known(pages);
  uint64_t before = known.version();
  const auto changes = [&] { return std::exchange(before, known.version()) != known.version(); };
  known.add(kBase, 8, false);
  EXPECT_TRUE(changes());
  known.free(kBase);
  EXPECT_TRUE(changes());
  known.remove(kBase);
  EXPECT_TRUE(changes());
}

TEST(Check, EachKernelOfASharedFunctionIsTold) {
  Check check(nullptr, true);
  Finding finding;
  finding.kind = Finding::Kind::kRace;
  finding.pc = 0x40;
  finding.other_pc = 0x80;
  EXPECT_TRUE(check.is_new(0x1000, finding));
  std::swap(finding.pc, finding.other_pc);
  EXPECT_FALSE(check.is_new(0x1000, finding));
  EXPECT_TRUE(check.is_new(0x2000, finding));
}

TEST(RaceShadow, TwoWavesOneOfWhichWrites) {
  RaceShadow shadow;
  EXPECT_FALSE(shadow.access(64, 4, false, true, mark(0)));
  // Accesses of the same wave are ordered.
  EXPECT_FALSE(shadow.access(64, 4, false, false, mark(0)));
  EXPECT_FALSE(shadow.access(68, 4, false, false, mark(1)));
  EXPECT_FALSE(shadow.access(64, 4, true, false, mark(1)));  // LDS is separate memory
  const auto conflict = shadow.access(64, 4, false, false, mark(1));
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->other.wave, 0);
  EXPECT_TRUE(conflict->other_writes);
  EXPECT_EQ(conflict->address, 64u);
}

TEST(RaceShadow, ReadersOfTwoWavesAreBothKnown) {
  for (const uint8_t writer : {uint8_t{0}, uint8_t{1}, uint8_t{2}}) {
    RaceShadow shadow;
    EXPECT_FALSE(shadow.access(0, 4, true, false, mark(0)));
    EXPECT_FALSE(shadow.access(0, 4, true, false, mark(1)));
    const auto conflict = shadow.access(0, 4, true, true, mark(writer));
    ASSERT_TRUE(conflict) << writer;
    EXPECT_NE(conflict->other.wave, writer);
    EXPECT_FALSE(conflict->other_writes);
  }
}

TEST(RaceShadow, ABarrierForgetsAll) {
  RaceShadow shadow;
  shadow.access(0, 16, true, true, mark(0));
  shadow.clear();
  EXPECT_FALSE(shadow.access(0, 16, true, true, mark(1)));
  EXPECT_TRUE(shadow.access(0, 16, true, true, mark(0)));
}

TEST(RaceShadow, BytesOfOneDwordAreApart) {
  RaceShadow shadow;
  EXPECT_FALSE(shadow.access(101, 1, false, true, mark(0)));
  EXPECT_FALSE(shadow.access(100, 1, false, true, mark(1)));
  EXPECT_FALSE(shadow.access(102, 2, false, true, mark(2)));
  const auto conflict = shadow.access(100, 4, false, false, mark(1));
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->address, 101u);

  RaceShadow whole;  // the dword access came first
  whole.access(100, 4, false, true, mark(0));
  EXPECT_TRUE(whole.access(103, 1, false, false, mark(1)));
  EXPECT_FALSE(whole.access(104, 1, false, false, mark(1)));
  // Unaligned: spans two dwords.
  EXPECT_FALSE(whole.access(106, 4, false, true, mark(0)));
  const auto over = whole.access(108, 4, false, false, mark(3));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->address, 108u);
}

TEST(RaceShadow, SaysOnceThatItMissesRaces) {
  RaceShadow shadow;
  constexpr uint64_t kDwords = uint64_t{1} << 21;
  for (uint64_t i = 0; i < kDwords; ++i) shadow.access(i * 4, 4, false, true, mark(0));
  EXPECT_FALSE(shadow.becomes_full());
  EXPECT_TRUE(shadow.access(0, 4, false, true, mark(1)));
  EXPECT_FALSE(shadow.access(kDwords * 4, 4, false, true, mark(0)));
  EXPECT_TRUE(shadow.becomes_full());
  EXPECT_FALSE(shadow.access(kDwords * 4, 4, false, true, mark(1)));  // missed
  EXPECT_FALSE(shadow.becomes_full());
  shadow.clear();
  EXPECT_FALSE(shadow.becomes_full());
}

TEST(RaceShadow, AgreesWithAListOfAllAccesses) {
  struct Access {
    uint64_t address;
    uint32_t bytes;
    bool writes;
    uint8_t wave;
  };
  uint64_t state = 7;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  int conflicts = 0;
  for (int round = 0; round < 300; ++round) {
    RaceShadow shadow;
    std::vector<Access> before;
    // Compares only up to the first conflict: after that, a shadow knows less than a list.
    for (int i = 0; i < 40; ++i) {
      constexpr uint32_t kSizes[] = {1, 2, 4, 8, 12, 16};
      const Access one{random(200), kSizes[random(6)], random(4) == 0,
                       static_cast<uint8_t>(random(3))};
      const bool expected = std::any_of(before.begin(), before.end(), [&](const Access& known) {
        return known.wave != one.wave && (known.writes || one.writes) &&
               known.address < one.address + one.bytes && one.address < known.address + known.bytes;
      });
      const auto found = shadow.access(one.address, one.bytes, false, one.writes, mark(one.wave));
      ASSERT_EQ(found.has_value(), expected) << round << " " << i;
      if (expected) {
        ++conflicts;
        break;
      }
      before.push_back(one);
    }
  }
  EXPECT_GT(conflicts, 200);
}

// A wave under check.
struct Checked : Machine {
  std::vector<uint32_t> memory = std::vector<uint32_t>(4096);
  Allocations allocations{[this](uint64_t) {
    return Mapping{address() & ~(kPage - 1), address() + memory.size() * 4};
  }};
  Check check{&allocations, true};
  Watch watch;
  GroupWatch group_watch;
  sonde::gpu::KernelDescriptor kernel{};
  std::vector<std::string> told;

  Checked() {
    watch.check = &check;
    watch.tell = [this](const std::string& text) { told.push_back(text); };
    wave->s[0] = static_cast<uint32_t>(address());
    wave->s[1] = static_cast<uint32_t>(address() >> 32);
    for (uint32_t lane = 0; lane < kLanes; ++lane) wave->v[0][lane] = lane * 4;
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory.data()); }
  void allow(uint64_t bytes, bool is_filled = false) {
    allocations.add(address(), bytes, is_filled);
  }
  Stop run_checked(const Words& words) {
    group_watch.begin(watch, {0, 0, 2, 0, group.lds_bytes, &kernel, {}});
    group.watch = &group_watch;
    return run(words);
  }
};

const Words kLoad = {0xdc508000, 0x01000000};   // global_load_dword v1, v0, s[0:1]
const Words kStore = {0xdc708000, 0x00000200};  // global_store_dword v0, v2, s[0:1]

TEST(Check, FindsTheLaneThatIsOutOfBounds) {
  Checked all;
  all.allow(256);
  EXPECT_EQ(all.run_checked(kLoad), Stop::kEnd);
  Checked less;
  less.allow(40 * 4 + 1);
  less.wave->v[1][40] = 77;
  EXPECT_EQ(less.run_checked(kLoad), Stop::kBadAccess);
  const Finding& found = less.group_watch.bad_access();
  EXPECT_EQ(found.kind, Finding::Kind::kOutOfBounds);
  EXPECT_EQ(found.lane, 40u);
  EXPECT_EQ(found.lanes, 24u);
  EXPECT_EQ(found.begin, less.address() + 160);
  EXPECT_EQ(found.address, less.address() + 161);
  EXPECT_EQ(less.wave->v[1][40], 77u);  // it was not executed
}

TEST(Check, FindsUseAfterFree) {
  Checked machine;
  machine.allow(256);
  machine.allocations.free(machine.address());
  EXPECT_EQ(machine.run_checked(kStore), Stop::kBadAccess);
  EXPECT_EQ(machine.group_watch.bad_access().kind, Finding::Kind::kUseAfterFree);
  EXPECT_EQ(machine.memory[0], 0u);
}

TEST(Check, LanesThatAreOffDoNothingWrong) {
  Checked machine;
  machine.allow(128);
  machine.wave->set64(sonde::gpu::kExec, 0xffffffff);
  EXPECT_EQ(machine.run_checked(kLoad), Stop::kEnd);
}

TEST(Check, FindsReadsOfWhatNobodyWrote) {
  Checked machine;
  machine.allow(256, true);
  Allocations::fill(machine.address(), 256);
  for (uint32_t i = 0; i < 64; ++i) {
    if (i != 9) machine.memory[i] = i;
  }
  EXPECT_EQ(machine.run_checked(kLoad), Stop::kEnd);  // the wave continues
  ASSERT_EQ(machine.told.size(), 1u);
  EXPECT_NE(machine.told[0].find("uninitialised_read: "), std::string::npos);
  EXPECT_NE(machine.told[0].find("lane 9 loads 4 bytes"), std::string::npos);
  machine.run_checked(kStore);
  EXPECT_EQ(machine.told.size(), 1u);
}

TEST(Check, LanesOfOneStoreWithDifferentValues) {
  Checked machine;
  machine.allow(256);
  machine.fill(0, 8);
  machine.fill(2, 5);
  EXPECT_EQ(machine.run_checked(kStore), Stop::kEnd);
  EXPECT_TRUE(machine.told.empty());  // the order does not matter: the value is 5
  machine.wave->v[2][30] = 6;
  machine.run_checked(kStore);
  ASSERT_EQ(machine.told.size(), 1u);
  EXPECT_NE(machine.told[0].find("race: "), std::string::npos);
}

TEST(Check, LdsEndsWithTheGroups) {
  Checked machine;
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[0][lane] = lane * 4 + 4;
  machine.group.lds_bytes = 256;
  EXPECT_EQ(machine.run_checked({0xd86c0000, 0x01000000}), Stop::kBadAccess);  // ds_read_b32 v1, v0
  EXPECT_EQ(machine.group_watch.bad_access().lane, 63u);
  EXPECT_TRUE(machine.group_watch.bad_access().is_local);
  EXPECT_EQ(machine.group_watch.bad_access().address, 256u);
}

// ds_read_b32 v1, v0; ds_write_b32 v0, v2; ds_write_b8 v0, v2
TEST(Check, FindsReadsOfLdsThatNobodyWrote) {
  const Words read = {0xd86c0000, 0x01000000}, write = {0xd81a0000, 0x00000200},
              write_byte = {0xd83c0000, 0x00000200};
  const auto findings_after = [&](const Words& before) {
    Checked machine;
    machine.group.lds_bytes = 256;
    Words words = before;
    words.insert(words.end(), read.begin(), read.end());
    EXPECT_EQ(machine.run_checked(words), Stop::kEnd);
    return machine.told;
  };
  const auto told = findings_after({});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("uninitialised_read: "), std::string::npos) << told[0];
  EXPECT_NE(told[0].find("lane 0 loads 4 bytes at LDS offset 0"), std::string::npos) << told[0];
  EXPECT_TRUE(findings_after(write).empty());
  EXPECT_TRUE(findings_after(write_byte).empty());  // the rest may be padding
}

// s_load_dwordx2 s[4:5], s[0:1], 0x0
TEST(Check, ScalarLoadsOfWholeDwordsAreCompilersWays) {
  Checked machine;
  machine.allow(5);
  EXPECT_EQ(machine.run_checked({0xc0060100, 0x00000000}), Stop::kEnd);
  Checked less;
  less.allow(4);
  EXPECT_EQ(less.run_checked({0xc0060100, 0x00000000}), Stop::kBadAccess);
  EXPECT_EQ(less.group_watch.bad_access().address, less.address() + 4);
}

}  // namespace
}  // namespace softgpu::isa
