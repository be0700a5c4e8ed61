// Allocations: what memory of a process kernels may touch, to the byte, for --check memory. The
// driver knows mappings by their pages; what the program asked for is added by hooks on HSA's
// calls. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <shared_mutex>
#include <utility>

namespace softgpu::isa {

// What a GPU can reach around an address, in whole pages; empty if that is nothing.
struct Mapping {
  uint64_t begin = 0, end = 0;
};
using MappingAt = std::function<Mapping(uint64_t address)>;

class Allocations {
 public:
  explicit Allocations(MappingAt mapping_at) : mapping_at_(std::move(mapping_at)) {}

  // What the program asked for, within a mapping. Nothing else of the mapping may be touched then.
  // is_filled: its bytes are those of fill(), until somebody writes them.
  void add(uint64_t address, uint64_t bytes, bool is_filled);
  // Stays known as freed until it is removed. False if it is none that lives.
  bool free(uint64_t address);
  void remove(uint64_t address);
  // Of one that lives; 0 if there is none.
  uint64_t bytes_at(uint64_t address) const;

  enum class Kind : uint8_t { kNowhere, kBuffer, kMapping, kBeside, kFreed };
  // What is at the address, and how far around it the same holds.
  struct Found {
    Kind kind = Kind::kNowhere;  // kBeside: mapped, but of no allocation
    uint64_t begin = 0, end = 0;
    bool is_filled = false;
    bool may_be_touched() const { return kind == Kind::kBuffer || kind == Kind::kMapping; }
  };
  Found find(uint64_t address) const;
  // Changes with each of the above but mappings, so that a caller may keep what it found for as
  // long as a work group runs.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // What memory holds that nobody has written. A dword that was written is taken for one that was
  // not in one of 2^32 cases.
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
  std::map<uint64_t, Buffer> buffers_;  // by begin
  std::atomic<uint64_t> version_{1};
};

}  // namespace softgpu::isa
