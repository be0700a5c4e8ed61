// Quarantine: where memory is checked, what the program has asked for, to the byte, and what it has
// freed, which is kept for a while so that its address is nobody else's. Fed by the calls of the
// HSA runtime (hsa_tool.cpp). Thread-safe.
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

  // Memory that the program has got. Of a GPU's own it is filled, so that reads of what nobody
  // wrote are seen; host memory may be written behind our back.
  void add(uint64_t address, uint64_t bytes, bool is_vram);
  // True if it is kept: then it is freed by now for kernels, but not in truth. What is to be freed
  // in its stead is in `due`.
  bool keep(uint64_t address, std::vector<uint64_t>& due);
  // All that is kept, which the caller frees.
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
