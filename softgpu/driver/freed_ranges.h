// FreedRanges: addresses of GPU memory that the program has freed. On a real GPU nothing is mapped
// there any more, whatever the host maps at that address; here both share an address space, so the
// range stays reserved for a while, and a kernel that still uses it faults. Used by Memory, which
// knows what is freed, and by munmap() and mmap(). Thread-safe, and never allocates, since an
// allocator may be the caller.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace softgpu {

class FreedRanges {
 public:
  // GPU memory here is freed; when the program next unmaps around it, keep() will keep it.
  void add(uint64_t address, uint64_t bytes);
  // There is memory here again.
  void remove(uint64_t address, uint64_t bytes);
  // Replaces munmap(): false if the range is not one of these, or cannot be kept.
  bool keep(uint64_t address, uint64_t bytes);
  // Called before something is mapped at exactly this place; `replaces`: existing mappings, too.
  void give_up(uint64_t address, uint64_t bytes, bool replaces);

  // Each may be a mapping, of which a process has at most 65,530.
  static constexpr size_t kMost = 1024;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 30;  // of addresses, not of memory

 private:
  struct Range {
    uint64_t address = 0, bytes = 0;  // no bytes: unused
    bool overlaps(uint64_t from, uint64_t length) const {
      return bytes != 0 && from < address + bytes && address < from + length;
    }
  };
  void drop_oldest();

  std::mutex mutex_;
  std::atomic<uint32_t> freed_count_ = 0, kept_count_ = 0;  // most calls concern neither
  std::array<Range, 256> freed_;                            // the newest, in turn
  std::array<Range, kMost> kept_;                           // a ring
  size_t next_freed_ = 0, oldest_ = 0;
  uint64_t kept_bytes_ = 0;
};

}  // namespace softgpu
