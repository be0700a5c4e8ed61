// CacheModel: the vector caches of compute units (TCP) and the L2 cache (TCC) of a GPU, with the
// geometry declared below, for modelled counters. It sees cache lines, not time: the order of waves
// is that of the engine. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "counters/counters.h"
#include "isa/opcode_class.h"

namespace softgpu::isa {

struct CacheGeometry {
  static constexpr uint32_t kTcpLine = 64, kTcpSets = 64, kTcpWays = 4;  // 16 KiB, written through
  static constexpr uint32_t kTccLine = 128, kTccWays = 16;               // written back
  static constexpr uint32_t kChannelBytes = 256;  // consecutive bytes in one channel
  uint64_t tcc_bytes = 8 << 20;                   // of all channels together
};

class CacheModel {
 public:
  CacheModel(CounterBank& counters, const CacheGeometry& geometry);

  // Call this first. The vector caches of all units are empty when a kernel begins.
  void begin_dispatch();
  // The accesses of one instruction of a group, each line once. `returns`: an atomic with a result.
  struct Bytes {
    uint64_t address = 0;
    uint32_t count = 0;
  };
  void access(uint64_t group, Access kind, bool returns, std::span<const Bytes> bytes);
  // A dispatch has ended: its release fence writes back all dirty L2 lines.
  void end_dispatch();
  // ACQUIRE_MEM for L2: empties it.
  void invalidate_all();
  // buffer_wbinvl1.
  void invalidate(uint64_t group);

 private:
  struct Line {
    uint64_t tag = 0;
    uint64_t used = 0;  // time of last use; 0 = empty
    bool is_dirty = false;
  };
  // The line, or the one to replace; and whether it was a hit.
  static std::pair<Line*, bool> find(std::span<Line> set, uint64_t tag);
  void request(uint64_t address, Access kind);
  void write_back(Line& line, uint32_t channel);

  CounterBank& counters_;
  const CounterGeometry geometry_;
  const uint32_t tcc_sets_;
  std::mutex mutex_;
  uint64_t now_ = 0;
  std::vector<std::vector<Line>> tcp_;  // by unit; allocated on use
  std::vector<Line> tcc_;               // allocated at the first dispatch
  std::vector<size_t> filled_;          // indexes of nonempty lines
};

}  // namespace softgpu::isa
