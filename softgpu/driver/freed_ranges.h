// FreedRanges: addresses of GPUs' memory that the program has given back. On a GPU nothing is at
// such an address any more, whatever the host maps there; here both have one address space, so it
// is kept reserved for a while, and a kernel that still uses it faults. Used by Memory, which knows
// what is freed, and by munmap() and mmap(). Thread-safe, and allocates nothing: an allocator may
// be what calls them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace softgpu {

class FreedRanges {
 public:
  // The GPUs' memory here is freed; what the program unmaps around it next is kept.
  void add(uint64_t address, uint64_t bytes);
  // Memory is here again.
  void remove(uint64_t address, uint64_t bytes);
  // In the stead of munmap(): false if this is none of them, or it cannot be kept.
  bool keep(uint64_t address, uint64_t bytes);
  // Before something is mapped at exactly this place; `replaces`: whatever is there.
  void give_up(uint64_t address, uint64_t bytes, bool replaces);

  static constexpr size_t kMost = 1024;  // each may be a mapping, of which a process has 65,530
  static constexpr uint64_t kMostBytes = uint64_t{64} << 30;  // of addresses, not of memory

 private:
  struct Range {
    uint64_t address = 0, bytes = 0;  // no bytes: none
    bool overlaps(uint64_t from, uint64_t length) const {
      return bytes != 0 && from < address + bytes && address < from + length;
    }
  };
  void drop_oldest();

  std::mutex mutex_;
  std::atomic<uint32_t> freed_count_ = 0, kept_count_ = 0;  // most calls concern none of them
  std::array<Range, 256> freed_;                            // the newest, at their turn
  std::array<Range, kMost> kept_;                           // a ring
  size_t next_freed_ = 0, oldest_ = 0;
  uint64_t kept_bytes_ = 0;
};

}  // namespace softgpu
