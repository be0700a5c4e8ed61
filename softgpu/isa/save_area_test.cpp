// The save area of waves at the offsets that AMD's debuggers expect, and restoring from it; holding
// groups.
#include "isa/save_area.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "isa/hold.h"
#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

using namespace std::chrono_literals;
using sonde::gpu::Architecture;

constexpr size_t kRegisters = (16 + 16 + 112) * 4, kRow = 256;

// Two waves of a group whose other waves have ended: 8 VGPRs, 16 accumulators, 700 bytes of LDS.
struct Pair {
  std::unique_ptr<Wave> first = std::make_unique<Wave>(), second = std::make_unique<Wave>();
  std::vector<uint8_t> lds = std::vector<uint8_t>(700, 0x5a);
  StoppedGroup group{{first.get(), second.get()}, lds, {Architecture::kGfx90a, 8, 16}};

  Pair() {
    for (Wave* wave : group.waves) clear(*wave);
    first->v[7][63] = 763;
    first->v[256 + 15][1] = 151;
    first->s[sonde::gpu::kTtmp + 6] = 0x1234567;
    first->s[101] = 1010;
    first->set64(sonde::gpu::kVcc, 0x1122334455667788);
    first->pc = 0x7f0011223344;
    first->set64(sonde::gpu::kExec, 0xff);
    first->scc = 1;
    first->mode = 0x2f0;
    second->s[0] = 2000;
  }
};

uint32_t word_at(const std::vector<uint8_t>& bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

TEST(SaveArea, HasEachPartBelowTheOneBefore) {
  Pair pair;
  const SavedWaves saved = save(std::span(&pair.group, 1));
  // State: 24 registers in units of 8, all SGPRs, 2 units of LDS, accumulators from register 8 on.
  const uint32_t state = 1u << 31 | 2 | 7 << 6 | 2 << 9 | 1 << 24;
  EXPECT_EQ(saved.control_stack, (std::vector<uint32_t>{0, 0, state, 1 << 17, 1 << 16}));
  const size_t vectors = 24 * kRow, first = 64 + 1024 + kRegisters + vectors;
  ASSERT_EQ(saved.waves.size(), first + 64 + kRegisters + vectors);
  const size_t lds = saved.waves.size() - 64 - 1024, ttmps = lds - 64, hardware = ttmps - 64,
               scalars = hardware - 112 * 4, accumulators = scalars - 16 * kRow,
               rows = accumulators - 8 * kRow;
  EXPECT_EQ(saved.waves[lds + 699], 0x5a);
  EXPECT_EQ(word_at(saved.waves, ttmps + 6 * 4), 0x1234567u);
  EXPECT_EQ(word_at(saved.waves, hardware + 4), 0x11223344u);
  EXPECT_EQ(word_at(saved.waves, hardware + 8), 0x7f00u);
  EXPECT_EQ(word_at(saved.waves, hardware + 12), 0xffu);
  EXPECT_EQ(word_at(saved.waves, hardware + 20), status_of(*pair.first));
  EXPECT_EQ(word_at(saved.waves, hardware + 36), 0x2f0u);
  EXPECT_EQ(word_at(saved.waves, scalars + 101 * 4), 1010u);
  EXPECT_EQ(word_at(saved.waves, scalars + 106 * 4), 0x55667788u);
  EXPECT_EQ(word_at(saved.waves, accumulators + 15 * kRow + 4), 151u);
  EXPECT_EQ(word_at(saved.waves, rows + 7 * kRow + 63 * 4), 763u);
  EXPECT_EQ(word_at(saved.waves, rows - 64 - kRegisters), 2000u);
}

TEST(SaveArea, GivesBackWhatADebuggerHasWritten) {
  Pair pair;
  SavedWaves saved = save(std::span(&pair.group, 1));
  const auto write = [&](size_t offset, uint32_t value) {
    std::memcpy(saved.waves.data() + offset, &value, sizeof value);
  };
  const size_t ttmps = saved.waves.size() - 64 - 1024 - 64, hardware = ttmps - 64;
  write(hardware + 4, 0x55667788);
  write(hardware + 20, 1u << 13);
  write(hardware - 112 * 4 + 5 * 4, 55);
  write(saved.waves.size() - 64 - 1024, 0x01020304);
  ASSERT_TRUE(restore(saved.waves, std::span(&pair.group, 1)));
  EXPECT_EQ(pair.first->pc, 0x7f0055667788u);
  EXPECT_TRUE(pair.first->is_halted);
  EXPECT_EQ(pair.first->scc, 0u);
  EXPECT_EQ(pair.first->s[5], 55u);
  EXPECT_EQ(pair.lds[0], 4);
  EXPECT_EQ(pair.first->v[7][63], 763u);
  EXPECT_EQ(pair.second->s[0], 2000u);
  EXPECT_FALSE(pair.second->is_halted);
  saved.waves.pop_back();
  EXPECT_FALSE(restore(saved.waves, std::span(&pair.group, 1)));
}

TEST(SaveArea, CountsRegistersAsTheirGpuDoes) {
  sonde::gpu::KernelDescriptor kernel{};
  kernel.rsrc1 = 5;
  kernel.rsrc3 = 3;
  const WaveRegisters own = registers_of(Architecture::kGfx90a, kernel);
  EXPECT_EQ(own.vectors, 16u);
  EXPECT_EQ(own.accumulators, 32u);
  EXPECT_EQ(registers_of(Architecture::kGfx908, kernel).accumulators, 24u);
  EXPECT_EQ(registers_of(Architecture::kGfx906, kernel).vectors, 24u);
}

TEST(WaveHold, HasAllGroupsStopAndGoOn) {
  Pair pair;
  WaveHold hold;
  hold.hold();
  ASSERT_TRUE(hold.saved(1ms));  // no group runs
  EXPECT_TRUE(hold.saved(1ms)->waves.empty());
  hold.release({});

  std::atomic<bool> done{false}, begun{false};
  std::thread runner([&] {
    hold.begin();
    begun = true;
    while (!done) {
      if (hold.is_wanted()) hold.stay(pair.group, [] {});
      std::this_thread::yield();
    }
    hold.end();
  });
  while (!begun) std::this_thread::yield();
  hold.hold();
  std::optional<SavedWaves> saved = hold.saved(10s);
  const size_t pc = 64 + 1024 + 128 - 4;  // from the end
  if (saved && saved->waves.size() > pc) saved->waves[saved->waves.size() - pc] = 0x48;
  hold.release(saved ? std::span<uint8_t>(saved->waves) : std::span<uint8_t>());
  done = true;
  runner.join();
  ASSERT_TRUE(saved);
  EXPECT_EQ(pair.first->pc, 0x7f0011223348u);
}

TEST(WaveHold, HasGroupsThatWaitForOthers) {
  Pair pair;
  WaveHold hold;
  hold.begin();
  hold.end_parked(pair.group, [] {});
  hold.hold();
  std::optional<SavedWaves> saved = hold.saved(1ms);
  ASSERT_TRUE(saved);
  const size_t pc = 64 + 1024 + 128 - 4;  // from the end
  ASSERT_GT(saved->waves.size(), pc);
  saved->waves[saved->waves.size() - pc] = 0x48;
  hold.release(saved->waves);
  EXPECT_EQ(pair.first->pc, 0x7f0011223348u);
  hold.begin_parked(pair.group);
  hold.hold();
  EXPECT_FALSE(hold.saved(1ms));  // the group runs again
  hold.release({});
  hold.end_parked(pair.group, [] {});
  hold.forget_parked(pair.group);
  hold.hold();
  EXPECT_TRUE(hold.saved(1ms)->waves.empty());
}

TEST(WaveHold, DoesNotWaitForEverForAGroupThatDoesNotStop) {
  WaveHold hold;
  hold.begin();
  hold.hold();
  EXPECT_FALSE(hold.saved(1ms));
  hold.end_all();
  hold.wait_until_wanted();
}

TEST(WaveHold, KeepsWhatHasFailed) {
  WaveHold hold;
  {
    Pair pair;
    mark_stopped(*pair.first, 0x7f0011223340);
    hold.keep(pair.group);
  }
  hold.hold();
  const auto saved = hold.saved(1ms);
  ASSERT_TRUE(saved);
  const size_t ttmps = saved->waves.size() - 64 - 1024 - 64;
  EXPECT_EQ(word_at(saved->waves, ttmps + 6 * 4) >> 30 & 1, 1u);
  EXPECT_EQ(word_at(saved->waves, ttmps + 7 * 4), 0x11223340u);
  EXPECT_EQ(word_at(saved->waves, ttmps + 11 * 4) >> 7 & 0xffff, 0x7f00u);
  EXPECT_EQ(saved->control_stack.size(), 5u);
}

}  // namespace
}  // namespace softgpu::isa
