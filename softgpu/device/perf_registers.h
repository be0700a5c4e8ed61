// PerfRegisters: the performance counter registers of one GPU. PM4 packets select, start, stop and
// read counters, for one shader engine and instance or, by GRBM_GFX_INDEX, for all.
//
// Everything that softgpu can count is counted while the state is "started" and
// COMPUTE_PERFCOUNT_ENABLE is set; a select register determines which of it its counter shows, from
// the time of the selection on. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "counters/counters.h"
#include "counters/registers.h"
#include "isa/caches.h"
#include "isa/watch.h"

namespace softgpu {

CounterGeometry counter_geometry(const GpuConfig& gpu);

class PerfRegisters {
 public:
  explicit PerfRegisters(const GpuConfig& gpu);

  // `now_ns`: time on the device.
  void write(uint32_t number, uint32_t value, int64_t now_ns);
  uint32_t read(uint32_t number, int64_t now_ns);

  // For dispatches.
  bool is_counting() const { return counting_; }
  isa::Watch watch();
  void end_dispatch();
  // ACQUIRE_MEM that invalidates the L2 cache.
  void invalidate_caches() { caches_.invalidate_all(); }
  // How long the dispatch since watch() keeps its bottleneck busy, as far as the counters tell:
  // vector units, LDS, L1, L2 or memory. 0 while nothing is counted.
  double busy_ns() const;
  void kernel_ran(int64_t start_ns, int64_t end_ns);

 private:
  struct Place {  // one counter of one instance
    uint32_t select = 0;
    uint64_t before = 0;  // the count when it was selected
  };
  struct Block {
    const PerfBlock* what;
    uint32_t engines, instances;
    std::vector<Place> places;  // counter x engine x instance
  };
  template <class F>
  void for_each_place(Block& block, size_t counter, F&& use);
  uint64_t value(const Block& block, const Place& place, uint32_t engine, uint32_t instance);
  void control(uint32_t state, int64_t now_ns);
  void settle(int64_t now_ns);

  const uint32_t clock_mhz_;
  const uint32_t memory_mhz_;
  CounterBank bank_;
  isa::CacheModel caches_;
  std::atomic<bool> counting_{false};
  std::vector<uint64_t> before_;  // counts before the dispatch, by counter
  std::mutex mutex_;
  std::unordered_map<uint32_t, uint32_t> registers_;
  std::vector<Block> blocks_;
  uint32_t index_ = 0xe0000000;  // GRBM_GFX_INDEX: all
  int64_t settled_ns_ = 0;
};

}  // namespace softgpu
