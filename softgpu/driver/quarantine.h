// Quarantine: if memory is checked, the exact sizes that the program has requested, and the memory
// that it has freed, which is kept for a while so that its addresses are not reused. Fed by the
// calls of the HSA runtime (hsa_tool.cpp). Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "isa/allocations.h"

namespace softgpu {

class Quarantine {
 public:
  explicit Quarantine(isa::MappingAt mapping_at) : allocations_(std::move(mapping_at)) {}
  isa::Allocations& allocations() { return allocations_; }

  // The program has allocated memory. GPU memory is filled, so that uninitialised reads are
  // detected; host memory may be written without our notice.
  void add(uint64_t address, uint64_t bytes, bool is_vram);
  // True if it is kept: kernels see it as freed, but it is not freed yet. `due` gets the addresses
  // to free instead.
  bool keep(uint64_t address, std::vector<uint64_t>& due);
  // Everything that is kept, for the caller to free.
  std::vector<uint64_t> take_all();

 private:
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20, kMostFilled = uint64_t{256} << 20;
  static constexpr size_t kMost = 4096;
  struct Kept {
    uint64_t address = 0, bytes = 0;
  };

  isa::Allocations allocations_;
  std::mutex mutex_;
  std::deque<Kept> kept_;  // the oldest first
  uint64_t bytes_ = 0;
};

}  // namespace softgpu
