// The table of counters and the sums by place.
#include "counters/counters.h"

#include <gtest/gtest.h>

#include <set>

#include "counters/registers.h"

namespace softgpu {
namespace {

TEST(Counters, EachHasANameANumberAndARuleOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::pair<CounterBlock, uint32_t>> numbers;
  for (const Counter& each : all_counters()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_TRUE(numbers.insert({each.block, each.event}).second) << each.name;
    EXPECT_FALSE(each.rule.empty()) << each.name;
    EXPECT_EQ(find_counter(each.name), &each);
    EXPECT_EQ(find_counter(CounterFamily::kGfx90a, each.block, each.event), &each);
    EXPECT_EQ(&all_counters()[id_of(each)], &each);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(counter::kCount));
  EXPECT_EQ(find_counter("SQ_NONE"), nullptr);
  EXPECT_EQ(find_counter(CounterFamily::kGfx90a, CounterBlock::kSq, 511), nullptr);
  // AMD's numbers on gfx90a.
  EXPECT_EQ(find_counter("SQ_WAVES")->event, 4);
  EXPECT_EQ(find_counter("SQ_INSTS_VALU_MFMA_MOPS_F64")->event, 51);
  EXPECT_EQ(find_counter("TA_FLAT_ATOMIC_WAVEFRONTS")->event, 103);
  EXPECT_EQ(find_counter("TCC_EA_RDREQ_32B")->event, 39);
  EXPECT_EQ(find_counter("SQ_WAIT_ANY")->kind, CounterClass::kRefused);
  EXPECT_EQ(find_counter("TCC_HIT")->kind, CounterClass::kModelled);
  EXPECT_NE(counter_table().find("SQ_WAVES                             SQ        4  exact"),
            std::string::npos);
}

TEST(Counters, OlderGpusHaveFewerByOtherNumbers) {
  const auto name = [](CounterFamily family, CounterBlock block, uint32_t event) {
    const Counter* found = find_counter(family, block, event);
    return found == nullptr ? "" : found->name;
  };
  EXPECT_EQ(name(CounterFamily::kGfx900, CounterBlock::kSq, 30), "SQ_INSTS_SALU");
  EXPECT_EQ(name(CounterFamily::kGfx908, CounterBlock::kSq, 31), "SQ_INSTS_SALU");
  EXPECT_EQ(name(CounterFamily::kGfx90a, CounterBlock::kSq, 31), "SQ_INSTS_VALU_ADD_F32");
  EXPECT_EQ(name(CounterFamily::kGfx900, CounterBlock::kTcc, 20), "TCC_HIT");
  EXPECT_EQ(name(CounterFamily::kGfx908, CounterBlock::kTcc, 17), "TCC_HIT");
  EXPECT_EQ(name(CounterFamily::kGfx908, CounterBlock::kSq, 45), "");
  EXPECT_EQ(counter_family("gfx906"), CounterFamily::kGfx900);
  EXPECT_FALSE(counter_family("gfx1030"));
}

TEST(Counters, AllEventsFitTheirSelectRegisters) {
  for (const Counter& each : all_counters()) {
    for (const PerfBlock& block : perf_blocks()) {
      if (block.block != each.block) continue;
      EXPECT_LT(each.event, 1U << block.event_bits) << each.name;
      EXPECT_EQ(block.selects.size(), block.lows.size());
    }
  }
}

TEST(Counters, EachUnitIsInOneEngineAndSumsAreSumsOverPlaces) {
  for (const CounterGeometry geometry :
       {CounterGeometry{8, 110, 32}, CounterGeometry{4, 13, 16}, CounterGeometry{1, 1, 1}}) {
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (uint64_t group = 0; group < geometry.units; ++group) {
      EXPECT_LT(geometry.engine_of(group), geometry.engines);
      EXPECT_LT(geometry.unit_of(group), geometry.units_of_engine());
      places.insert({geometry.engine_of(group), geometry.unit_of(group)});
    }
    EXPECT_EQ(places.size(), geometry.units);
    CounterBank bank(geometry);
    Tally tally{};
    tally[counter::SQ_INSTS] = 3;
    tally[counter::TA_TOTAL_WAVEFRONTS] = 2;
    for (uint64_t group = 0; group < 1000; ++group) bank.add(tally, group);
    EXPECT_EQ(bank.sum(counter::SQ_INSTS), 3000U);
    EXPECT_EQ(bank.sum(counter::TA_TOTAL_WAVEFRONTS), 2000U);
    uint64_t sum = 0;
    for (uint32_t engine = 0; engine < geometry.engines; ++engine)
      sum += bank.value(counter::SQ_INSTS, engine, 0);
    EXPECT_EQ(sum, 3000U);
    bank.clear();
    EXPECT_EQ(bank.sum(counter::SQ_INSTS), 0U);
  }
}

}  // namespace
}  // namespace softgpu
