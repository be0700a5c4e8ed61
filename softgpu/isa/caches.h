// CacheModel: the vector caches of compute units (TCP) and the second level (TCC) of a GPU, with
// the declared geometry below, for the counters that are modelled. It sees lines, not time: in
// which order waves come by is that of the engine. Thread-safe.
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
  static constexpr uint32_t kChannelBytes = 256;  // that go to one channel, then the next
  uint64_t tcc_bytes = 8 << 20;                   // of all channels
};

class CacheModel {
 public:
  CacheModel(CounterBank& counters, const CacheGeometry& geometry);

  // To be called first. The vector caches of all units are empty when a kernel begins.
  void begin_dispatch();
  // One instruction of a group: the bytes, each line once. `returns`: of an atomic.
  struct Bytes {
    uint64_t address = 0;
    uint32_t count = 0;
  };
  void access(uint64_t group, Access kind, bool returns, std::span<const Bytes> bytes);
  // A dispatch is over: its release fence writes all changed lines of the second level back.
  void end_dispatch();
  // ACQUIRE_MEM of the second level: it is empty.
  void invalidate_all();
  // buffer_wbinvl1.
  void invalidate(uint64_t group);

 private:
  struct Line {
    uint64_t tag = 0;
    uint64_t used = 0;  // when; 0 = it holds nothing
    bool is_dirty = false;
  };
  // The line, or the one to be replaced; whether it is there.
  static std::pair<Line*, bool> find(std::span<Line> set, uint64_t tag);
  void request(uint64_t address, Access kind);
  void write_back(Line& line, uint32_t channel);

  CounterBank& counters_;
  const CounterGeometry geometry_;
  const uint32_t tcc_sets_;
  std::mutex mutex_;
  uint64_t now_ = 0;
  std::vector<std::vector<Line>> tcp_;  // by unit; empty until it is used
  std::vector<Line> tcc_;               // empty until the first dispatch
  std::vector<size_t> filled_;          // places in it that hold something
};

}  // namespace softgpu::isa
