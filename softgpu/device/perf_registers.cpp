#include "device/perf_registers.h"

#include <algorithm>

#include "config/models.h"

namespace softgpu {
namespace {

uint64_t cycles(int64_t ns, uint32_t mhz) {
  return ns <= 0 ? 0 : static_cast<uint64_t>(ns) * mhz / 1000;
}

}  // namespace

CounterGeometry counter_geometry(const GpuConfig& gpu) {
  const Model& model = model_of(gpu);
  return {std::max(1U, model.shader_engines), std::max(1U, gpu.compute_units),
          model.l2_kib >= 8192 ? 32U : 16U,
          counter_family(gpu.model).value_or(CounterFamily::kGfx90a)};
}

PerfRegisters::PerfRegisters(const GpuConfig& gpu)
    : clock_mhz_(gpu.shader_clock_mhz),
      memory_mhz_(gpu.memory_clock_mhz),
      bank_(counter_geometry(gpu)),
      caches_(bank_, {uint64_t{model_of(gpu).l2_kib} * 1024}) {
  for (const PerfBlock& each : perf_blocks()) {
    const CounterGeometry& geometry = bank_.geometry();
    Block& made = blocks_.emplace_back(
        Block{&each, geometry.engines_of(each.block), geometry.instances_of(each.block), {}});
    made.places.resize(each.selects.size() * made.engines * made.instances);
  }
}

template <class F>
void PerfRegisters::for_each_place(Block& block, size_t counter, F&& use) {
  const uint32_t engine = index_ >> 16 & 0xff, instance = index_ & 0xff;
  for (uint32_t e = 0; e < block.engines; ++e) {
    if (block.engines > 1 && !(index_ & kAllEngines) && e != engine) continue;
    for (uint32_t i = 0; i < block.instances; ++i) {
      if (block.instances > 1 && !(index_ & kAllInstances) && i != instance) continue;
      use(block.places[(counter * block.engines + e) * block.instances + i], e, i);
    }
  }
}

uint64_t PerfRegisters::value(const Block& block, const Place& place, uint32_t engine,
                              uint32_t instance) {
  const Counter* counter = find_counter(bank_.geometry().family, block.what->block,
                                        place.select & ((1U << block.what->event_bits) - 1));
  if (counter == nullptr || counter->kind == CounterClass::kRefused) return 0;
  return bank_.value(id_of(*counter), engine, instance);
}

void PerfRegisters::write(uint32_t number, uint32_t given, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  registers_[number] = given;
  settle(now_ns);
  if (number == kGrbmGfxIndex) index_ = given;
  if (number == kCpPerfmonControl) return control(given & 15, now_ns);
  if (number == kComputePerfcountEnable)
    counting_ = (given & 1) != 0 && (registers_[kCpPerfmonControl] & 15) == kPerfmonStart;
  for (Block& block : blocks_) {
    const auto& selects = block.what->selects;
    const auto found = std::find(selects.begin(), selects.end(), number);
    if (found == selects.end()) continue;
    for_each_place(block, static_cast<size_t>(found - selects.begin()),
                   [&](Place& place, uint32_t engine, uint32_t instance) {
                     place.select = given;
                     place.before = value(block, place, engine, instance);
                   });
  }
}

uint32_t PerfRegisters::read(uint32_t number, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  settle(now_ns);
  for (Block& block : blocks_) {
    const uint32_t high = block.what->block == CounterBlock::kSpi ? ~0U : 1;
    for (size_t i = 0; i < block.what->lows.size(); ++i) {
      const uint32_t low = block.what->lows[i];
      if (number != low && number != low + high) continue;
      uint64_t found = 0;
      bool is_first = true;  // the first of all instances, if GRBM_GFX_INDEX selects all
      for_each_place(block, i, [&](Place& place, uint32_t engine, uint32_t instance) {
        if (is_first) found = value(block, place, engine, instance) - place.before;
        is_first = false;
      });
      const bool is_on = block.what->block != CounterBlock::kSq ||
                         (registers_[kSqPerfcounterControl] & kSqCountsCompute) != 0;
      return is_on ? static_cast<uint32_t>(number == low ? found : found >> 32) : 0;
    }
  }
  return registers_[number];
}

// CP_PERFMON_CNTL: 0 stops and resets, 1 starts, 2 stops.
void PerfRegisters::control(uint32_t state, int64_t now_ns) {
  settled_ns_ = now_ns;
  counting_ = state == kPerfmonStart && (registers_[kComputePerfcountEnable] & 1) != 0;
  if (state != kPerfmonReset) return;
  bank_.clear();
  for (Block& block : blocks_) {
    for (Place& place : block.places) place.before = 0;
  }
}

// Updates the counters of time.
void PerfRegisters::settle(int64_t now_ns) {
  if (!counting_ || now_ns <= settled_ns_) return;
  const uint64_t passed = cycles(now_ns - settled_ns_, clock_mhz_);
  settled_ns_ = now_ns;
  for (uint32_t e = 0; e < bank_.geometry().engines; ++e)
    bank_.add(counter::SQ_CYCLES, e, 0, passed);
  bank_.add(counter::GRBM_COUNT, 0, 0, passed);
}

void PerfRegisters::kernel_ran(int64_t start_ns, int64_t end_ns) {
  if (!counting_) return;
  const uint64_t passed = cycles(end_ns - start_ns, clock_mhz_);
  for (uint32_t e = 0; e < bank_.geometry().engines; ++e)
    bank_.add(counter::SQ_BUSY_CYCLES, e, 0, passed);
  bank_.add(counter::GRBM_GUI_ACTIVE, 0, 0, passed);
}

isa::Watch PerfRegisters::watch() {
  isa::Watch watch;
  if (!counting_) return watch;
  watch.counters = &bank_;
  watch.caches = &caches_;
  caches_.begin_dispatch();
  before_.resize(counter::kCount);
  for (uint16_t i = 0; i < counter::kCount; ++i) before_[i] = bank_.sum(counter::Id{i});
  return watch;
}

void PerfRegisters::end_dispatch() {
  if (counting_ && !before_.empty()) caches_.end_dispatch();
}

double PerfRegisters::busy_ns() const {
  if (!counting_ || before_.empty()) return 0;
  const auto counted = [&](counter::Id id) {
    return static_cast<double>(bank_.sum(id) - before_[id]);
  };
  const CounterGeometry& geometry = bank_.geometry();
  const double groups = counted(counter::SPI_CSN_NUM_THREADGROUPS);
  const double units = std::clamp(groups, 1.0, static_cast<double>(geometry.units));
  // A unit issues to one of its four SIMDs in each cycle; its LDS and L1 serve one access.
  const double of_units =
      std::max({counted(counter::SQ_ACTIVE_INST_VALU), counted(counter::SQ_LDS_IDX_ACTIVE),
                counted(counter::TCP_TOTAL_CACHE_ACCESSES)}) /
      units;
  const double of_l2 = counted(counter::TCC_REQ) / geometry.channels;
  const double bytes = 64 * (counted(counter::TCC_EA_RDREQ) + counted(counter::TCC_EA_WRREQ));
  const double memory_bytes_per_ns = memory_mhz_ / 1000.0 * 32 * geometry.channels;
  return std::max(std::max(of_units, of_l2) * 1000 / clock_mhz_, bytes / memory_bytes_per_ns);
}

}  // namespace softgpu
