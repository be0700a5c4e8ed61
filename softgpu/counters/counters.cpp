#include "counters/counters.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace softgpu {
namespace {

using enum CounterBlock;
using enum CounterClass;

constexpr Counter kTable[] = {
#define COUNTER(name, block, event, kind, rule) {#name, block, event, kind, rule},
#include "counters/counters.inc"
#undef COUNTER
};

// The differing numbers of GPUs before gfx90a.
struct OldNumber {
  counter::Id id;
  uint16_t gfx900, gfx908;
};
constexpr OldNumber kOldNumbers[] = {
    {counter::SQ_WAVES, 4, 4},
    {counter::SQ_INSTS_VALU, 26, 26},
    {counter::SQ_INSTS_VMEM_WR, 27, 28},
    {counter::SQ_INSTS_VMEM_RD, 28, 29},
    {counter::SQ_INSTS_SALU, 30, 31},
    {counter::SQ_INSTS_SMEM, 31, 32},
    {counter::SQ_INSTS_FLAT, 32, 33},
    {counter::SQ_INSTS_FLAT_LDS_ONLY, 33, 34},
    {counter::SQ_INSTS_LDS, 34, 35},
    {counter::SQ_INSTS_GDS, 35, 36},
    {counter::SQ_WAIT_INST_LDS, 63, 64},
    {counter::SQ_ACTIVE_INST_VALU, 71, 72},
    {counter::SQ_INST_CYCLES_SALU, 84, 85},
    {counter::SQ_THREAD_CYCLES_VALU, 85, 86},
    {counter::SQ_LDS_BANK_CONFLICT, 93, 94},
    {counter::TA_TA_BUSY, 15, 15},
    {counter::TA_FLAT_READ_WAVEFRONTS, 101, 101},
    {counter::TA_FLAT_WRITE_WAVEFRONTS, 102, 102},
    {counter::TCC_HIT, 20, 17},
    {counter::TCC_MISS, 22, 19},
    {counter::TCC_EA_WRREQ, 29, 26},
    {counter::TCC_EA_WRREQ_64B, 30, 27},
    {counter::TCC_EA_WRREQ_STALL, 33, 30},
    {counter::TCC_EA_RDREQ, 41, 38},
    {counter::TCC_EA_RDREQ_32B, 42, 39},
    {counter::TCP_TCP_TA_DATA_STALL_CYCLES, 6, 6},
    {counter::GRBM_COUNT, 0, 0},
    {counter::GRBM_GUI_ACTIVE, 2, 2},
};

std::string_view name_of_class(CounterClass kind) {
  switch (kind) {
    case kExact:
      return "exact";
    case kModelled:
      return "modelled";
    case kRefused:
      break;
  }
  return "refused";
}

}  // namespace

std::span<const Counter> all_counters() { return kTable; }

const Counter* find_counter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                   [&](const Counter& each) { return each.name == name; });
  return found == std::end(kTable) ? nullptr : found;
}

std::optional<CounterFamily> counter_family(std::string_view gfx) {
  if (gfx == "gfx90a") return CounterFamily::kGfx90a;
  if (gfx == "gfx908") return CounterFamily::kGfx908;
  if (gfx == "gfx900" || gfx == "gfx906") return CounterFamily::kGfx900;
  return std::nullopt;
}

const Counter* find_counter(CounterFamily family, CounterBlock block, uint32_t event) {
  for (const OldNumber& each : kOldNumbers) {
    if (family == CounterFamily::kGfx90a) break;
    const uint32_t number = family == CounterFamily::kGfx908 ? each.gfx908 : each.gfx900;
    if (kTable[each.id].block == block && number == event) return &kTable[each.id];
  }
  if (family != CounterFamily::kGfx90a) return nullptr;
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable), [&](const Counter& each) {
    return each.block == block && each.event == event;
  });
  return found == std::end(kTable) ? nullptr : found;
}

counter::Id id_of(const Counter& counter) { return static_cast<counter::Id>(&counter - kTable); }

std::string_view name_of(CounterBlock block) {
  constexpr std::string_view kNames[] = {"SQ",  "SPI",  "TA",  "TD", "TCP",
                                         "TCC", "GRBM", "CPC", "CPF"};
  return kNames[static_cast<size_t>(block)];
}

std::string counter_table() {
  std::string text;
  char line[256];
  const auto put = [&](std::string_view name, std::string_view block, const char* event,
                       std::string_view kind, std::string_view rule) {
    std::snprintf(line, sizeof(line), "%-36.*s %-5.*s %5s  %-8.*s  %.*s\n",
                  static_cast<int>(name.size()), name.data(), static_cast<int>(block.size()),
                  block.data(), event, static_cast<int>(kind.size()), kind.data(),
                  static_cast<int>(rule.size()), rule.data());
    text += line;
  };
  put("counter", "block", "event", "class", "rule, or why not");
  for (const Counter& each : kTable) {
    put(each.name, name_of(each.block), std::to_string(each.event).c_str(),
        name_of_class(each.kind), each.rule);
  }
  return text;
}

uint32_t CounterGeometry::engines_of(CounterBlock block) const {
  return block == kTcc || block == kGrbm || block == kCpc || block == kCpf ? 1 : engines;
}

uint32_t CounterGeometry::instances_of(CounterBlock block) const {
  if (block == kTcc) return channels;
  return block == kTa || block == kTd || block == kTcp ? units_of_engine() : 1;
}

CounterBank::CounterBank(const CounterGeometry& geometry) : geometry_(geometry) {
  for (const Counter& each : kTable) {
    values_.emplace_back(
        size_t{geometry.engines_of(each.block)} * geometry.instances_of(each.block), 0);
  }
}

uint64_t& CounterBank::at(counter::Id id, uint32_t engine, uint32_t instance) {
  const CounterBlock block = kTable[id].block;
  engine = std::min(engine, geometry_.engines_of(block) - 1);
  instance = std::min(instance, geometry_.instances_of(block) - 1);
  return values_[id][size_t{engine} * geometry_.instances_of(block) + instance];
}

void CounterBank::add(const Tally& tally, uint64_t group) {
  const uint32_t engine = geometry_.engine_of(group), unit = geometry_.unit_of(group);
  std::lock_guard lock(mutex_);
  for (uint16_t i = 0; i < counter::kCount; ++i) {
    if (tally[i] != 0) at(static_cast<counter::Id>(i), engine, unit) += tally[i];
  }
}

void CounterBank::add(counter::Id id, uint32_t engine, uint32_t instance, uint64_t value) {
  std::lock_guard lock(mutex_);
  at(id, engine, instance) += value;
}

uint64_t CounterBank::value(counter::Id id, uint32_t engine, uint32_t instance) const {
  std::lock_guard lock(mutex_);
  return const_cast<CounterBank*>(this)->at(id, engine, instance);
}

uint64_t CounterBank::sum(counter::Id id) const {
  std::lock_guard lock(mutex_);
  return std::accumulate(values_[id].begin(), values_[id].end(), uint64_t{0});
}

void CounterBank::clear() {
  std::lock_guard lock(mutex_);
  for (auto& each : values_) std::fill(each.begin(), each.end(), 0);
}

}  // namespace softgpu
