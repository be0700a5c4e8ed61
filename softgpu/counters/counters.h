// The hardware counters that profilers know, by AMD's names: which of them softgpu counts and how.
// An exact counter follows from the executed instructions, a modelled one from a declared cache or
// the time model; a refused one would have to be invented, so it cannot be selected. Used by the
// engine that counts, the device with the registers, the library that profilers load, and the
// command.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softgpu {

enum class CounterBlock : uint8_t { kSq, kSpi, kTa, kTd, kTcp, kTcc, kGrbm, kCpc, kCpf };
enum class CounterClass : uint8_t { kExact, kModelled, kRefused };

namespace counter {
enum Id : uint16_t {
#define COUNTER(name, block, event, kind, rule) name,
#include "counters/counters.inc"
#undef COUNTER
  kCount,
};
}  // namespace counter

struct Counter {
  std::string_view name;
  CounterBlock block;
  uint16_t event;  // number in the block's select register, on gfx90a
  CounterClass kind;
  std::string_view rule;
};

// Indexed by counter::Id.
std::span<const Counter> all_counters();
const Counter* find_counter(std::string_view name);
// Which numbers a GPU uses for its counters. GPUs before gfx90a have fewer counters.
enum class CounterFamily : uint8_t { kGfx90a, kGfx908, kGfx900 };
// For "gfx906" and the like; nullopt if its numbers are unknown.
std::optional<CounterFamily> counter_family(std::string_view gfx);
const Counter* find_counter(CounterFamily family, CounterBlock block, uint32_t event);
counter::Id id_of(const Counter& counter);
std::string_view name_of(CounterBlock block);
// For `softgpu --counters`.
std::string counter_table();

// The number of blocks of a GPU. Work-groups are assigned to compute units round-robin: group g to
// unit g % units of the GPU, whose engine is that number % engines.
struct CounterGeometry {
  uint32_t engines = 1, units = 1, channels = 1;  // units: of the whole GPU
  CounterFamily family = CounterFamily::kGfx90a;
  uint32_t units_of_engine() const { return (units + engines - 1) / engines; }
  uint32_t engine_of(uint64_t group) const {
    return static_cast<uint32_t>(group % units % engines);
  }
  uint32_t unit_of(uint64_t group) const { return static_cast<uint32_t>(group % units / engines); }
  // Engines and, in each, instances: for TA, TD and TCP one per unit, for TCC the channels.
  uint32_t engines_of(CounterBlock block) const;
  uint32_t instances_of(CounterBlock block) const;
};

// The counts of one group of waves.
using Tally = std::array<uint64_t, counter::kCount>;

// The sums since the last clear(), by place. Thread-safe.
class CounterBank {
 public:
  explicit CounterBank(const CounterGeometry& geometry);

  const CounterGeometry& geometry() const { return geometry_; }
  // Adds the counts of a group on its unit.
  void add(const Tally& tally, uint64_t group);
  void add(counter::Id id, uint32_t engine, uint32_t instance, uint64_t value);
  uint64_t value(counter::Id id, uint32_t engine, uint32_t instance) const;
  uint64_t sum(counter::Id id) const;
  void clear();

 private:
  uint64_t& at(counter::Id id, uint32_t engine, uint32_t instance);

  const CounterGeometry geometry_;
  mutable std::mutex mutex_;
  std::vector<std::vector<uint64_t>> values_;  // per counter: engines x instances
};

}  // namespace softgpu
