// Allocations: which memory of a process kernels may access, to the byte, for --check memory. The
// driver knows the pages of mappings; hooks on HSA's calls add the sizes that the program
// requested. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <shared_mutex>
#include <utility>

namespace softgpu::isa {

// The range that a GPU can access around an address, in whole pages; empty if there is none.
struct Mapping {
  uint64_t begin = 0, end = 0;
};
using MappingAt = std::function<Mapping(uint64_t address)>;

class Allocations {
 public:
  explicit Allocations(MappingAt mapping_at) : mapping_at_(std::move(mapping_at)) {}

  // Adds an allocation within a mapping; from then on, nothing else of the mapping may be accessed.
  // is_filled: its bytes are those of fill(), until they are written.
  void add(uint64_t address, uint64_t bytes, bool is_filled);
  // Marks it as freed until it is removed. False if it is not a live one.
  bool free(uint64_t address);
  void remove(uint64_t address);
  // The size of a live allocation; 0 if there is none.
  uint64_t bytes_at(uint64_t address) const;

  enum class Kind : uint8_t { kNowhere, kBuffer, kMapping, kBeside, kFreed };
  // What is at the address, and the range for which the same holds.
  struct Found {
    Kind kind = Kind::kNowhere;  // kBeside: mapped, but not allocated
    uint64_t begin = 0, end = 0;
    bool is_filled = false;
    bool may_be_touched() const { return kind == Kind::kBuffer || kind == Kind::kMapping; }
  };
  Found find(uint64_t address) const;
  // Changes with each of the calls above except for mappings, so that a caller may cache results
  // while a work-group runs.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // The contents of uninitialised memory. A written dword equals its fill value in one of 2^32
  // cases, and is then mistaken for an uninitialised one.
  static uint32_t fill_at(uint64_t address) {
    uint64_t x = (address >> 2) * 0x9e3779b97f4a7c15;
    x ^= x >> 29;
    return static_cast<uint32_t>(x * 0xbf58476d1ce4e5b9 >> 32);
  }
  static void fill(uint64_t address, uint64_t bytes);

 private:
  struct Buffer {
    uint64_t end = 0;
    bool is_filled = false, is_freed = false;
  };
  void changed() { version_.fetch_add(1, std::memory_order_release); }

  const MappingAt mapping_at_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Buffer> buffers_;  // by begin address
  std::atomic<uint64_t> version_{1};
};

}  // namespace softgpu::isa
