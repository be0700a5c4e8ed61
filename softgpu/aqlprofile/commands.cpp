#include "aqlprofile/commands.h"

#include <algorithm>
#include <map>

namespace softgpu::aqlprofile {
namespace {

constexpr uint32_t kShBegin = 0x2c00, kUconfigBegin = 0xc000;
constexpr uint32_t kAll = kAllInstances | kAllEngines | kAllArrays;

// Writes type 3 packets.
class Writer {
 public:
  void set(uint32_t number, uint32_t value) {
    const bool is_uconfig = number >= kUconfigBegin;
    put(is_uconfig ? 0x79 : 0x76, {number - (is_uconfig ? kUconfigBegin : kShBegin), value});
  }
  void wait_for_kernels() { put(0x46, {0x07 | 4U << 8}); }  // EVENT_WRITE CS_PARTIAL_FLUSH
  void flush_caches() {  // ACQUIRE_MEM of everything, with write-back and invalidation
    put(0x58, {0x28c40000, 0xffffffff, 0xff, 0, 0, 10});
  }
  // COPY_DATA of one half of a counter, confirmed.
  void copy(uint32_t number, uint64_t to) {
    put(0x40, {4 | 2U << 8 | 1U << 20, number, 0, static_cast<uint32_t>(to),
               static_cast<uint32_t>(to >> 32)});
  }
  Commands take() { return std::move(words_); }

 private:
  void put(uint32_t opcode, std::initializer_list<uint32_t> words) {
    words_.push_back(3U << 30 | static_cast<uint32_t>(words.size() - 1) << 16 | opcode << 8);
    words_.insert(words_.end(), words);
  }
  Commands words_;
};

uint32_t select_value(const Selected& each) {
  const uint32_t event = each.event;
  // SQ: all SIMDs, and all banks and clients of the scalar caches.
  return each.block->block == CounterBlock::kSq ? event | 0xfU << 12 | 0xfU << 16 | 0xfU << 24
                                                : event;
}

void write_reads(Writer& to, std::span<const Selected> selected, const CounterGeometry& geometry,
                 uint64_t output) {
  for (const Selected& each : selected) {
    const CounterBlock block = each.block->block;
    const uint32_t low = each.block->lows[each.slot];
    const uint32_t high = block == CounterBlock::kSpi ? low - 1 : low + 1;
    for (uint32_t engine = 0; engine < geometry.engines_of(block); ++engine, output += 8) {
      const bool is_in_engines = geometry.engines_of(block) > 1;
      to.set(kGrbmGfxIndex,
             kAllArrays | (is_in_engines ? engine << 16 : kAllEngines) | each.instance);
      to.copy(low, output);
      to.copy(high, output + 4);
    }
  }
  to.set(kGrbmGfxIndex, kAll);
}

}  // namespace

const Counter* countable(const Wanted& wanted, const CounterGeometry& geometry) {
  const Counter* counter = find_counter(geometry.family, wanted.block, wanted.event);
  if (counter == nullptr || counter->kind == CounterClass::kRefused) return nullptr;
  return wanted.instance < geometry.instances_of(wanted.block) ? counter : nullptr;
}

std::optional<std::vector<Selected>> select(std::span<const Wanted> wanted,
                                            const CounterGeometry& geometry) {
  std::vector<Selected> selected;
  std::map<std::pair<CounterBlock, uint32_t>, uint32_t> used;
  for (const Wanted& each : wanted) {
    const Counter* counter = countable(each, geometry);
    const auto& blocks = perf_blocks();
    const auto block = std::find_if(blocks.begin(), blocks.end(), [&](const PerfBlock& candidate) {
      return candidate.block == each.block;
    });
    if (counter == nullptr || block == blocks.end()) return std::nullopt;
    const uint32_t slot = used[{each.block, each.instance}]++;
    if (slot >= block->selects.size()) return std::nullopt;
    selected.push_back({counter, &*block, each.event, each.instance, slot});
  }
  return selected;
}

Commands start_commands(std::span<const Selected> selected) {
  Writer to;
  to.wait_for_kernels();
  to.set(kGrbmGfxIndex, kAll);
  to.set(kRlcPerfmonClockControl, 1);
  to.set(kCpPerfmonControl, kPerfmonReset);
  to.set(kSqPerfcounterControl, 0x7f);
  to.set(kComputePerfcountEnable, 1);
  for (const Selected& each : selected) {
    to.set(kGrbmGfxIndex, kAllArrays | kAllEngines | each.instance);
    to.set(each.block->selects[each.slot], select_value(each));
  }
  to.set(kGrbmGfxIndex, kAll);
  to.set(kCpPerfmonControl, kPerfmonStart);
  return to.take();
}

Commands read_commands(std::span<const Selected> selected, const CounterGeometry& geometry,
                       uint64_t output) {
  Writer to;
  to.wait_for_kernels();
  write_reads(to, selected, geometry, output);
  to.flush_caches();
  return to.take();
}

Commands stop_commands(std::span<const Selected> selected, const CounterGeometry& geometry,
                       uint64_t output) {
  Writer to;
  to.wait_for_kernels();
  to.set(kCpPerfmonControl, kPerfmonStop);
  write_reads(to, selected, geometry, output);
  to.set(kComputePerfcountEnable, 0);
  to.set(kCpPerfmonControl, kPerfmonReset);
  to.set(kRlcPerfmonClockControl, 0);
  to.flush_caches();
  return to.take();
}

uint32_t values_of(std::span<const Selected> selected, const CounterGeometry& geometry) {
  uint32_t count = 0;
  for (const Selected& each : selected) count += geometry.engines_of(each.block->block);
  return count;
}

}  // namespace softgpu::aqlprofile
