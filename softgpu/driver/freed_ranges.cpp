#include "driver/freed_ranges.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace softgpu {
namespace {

// Raw system calls: libc's functions are the ones that call us.
void unmap(uint64_t address, uint64_t bytes) {
  if (bytes != 0) syscall(SYS_munmap, address, bytes);
}

bool reserve(uint64_t address, uint64_t bytes) {
  return syscall(SYS_mmap, address, bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) >= 0;
}

// With a limit on address space, the program needs the addresses more.
bool addresses_are_limited() {
  struct rlimit limit {};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

void FreedRanges::add(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Range& place = freed_[next_freed_++ % freed_.size()];
  if (place.bytes == 0) ++freed_count_;
  place = {address, bytes};
}

void FreedRanges::remove(uint64_t address, uint64_t bytes) {
  if (freed_count_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(mutex_);
  for (Range& range : freed_) {
    if (!range.overlaps(address, bytes)) continue;
    range = {};
    --freed_count_;
  }
}

bool FreedRanges::keep(uint64_t address, uint64_t bytes) {
  if (freed_count_.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(mutex_);
  bool is_known = false;
  for (Range& range : freed_) {
    if (!range.overlaps(address, bytes)) continue;
    is_known = true;
    range = {};
    --freed_count_;
  }
  if (!is_known || bytes > kMostBytes || addresses_are_limited()) return false;
  if (!reserve(address, bytes)) return false;
  while (kept_count_ == kMost || kept_bytes_ + bytes > kMostBytes) drop_oldest();
  kept_[(oldest_ + kept_count_) % kMost] = {address, bytes};
  ++kept_count_;
  kept_bytes_ += bytes;
  return true;
}

void FreedRanges::drop_oldest() {
  const Range range = kept_[oldest_];
  kept_[oldest_] = {};
  oldest_ = (oldest_ + 1) % kMost;
  --kept_count_;
  kept_bytes_ -= range.bytes;
  unmap(range.address, range.bytes);
}

void FreedRanges::give_up(uint64_t address, uint64_t bytes, bool replaces) {
  if (kept_count_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(mutex_);
  for (Range& range : kept_) {
    if (!range.overlaps(address, bytes)) continue;
    // Stays reserved until it is replaced, or another thread could get it meanwhile.
    const uint64_t end = range.address + range.bytes, new_end = address + bytes;
    const uint64_t from = replaces ? std::clamp(address, range.address, end) : end;
    const uint64_t to = replaces ? std::clamp(new_end, range.address, end) : end;
    unmap(range.address, from - range.address);
    unmap(to, end - to);
    kept_bytes_ -= range.bytes;
    range.bytes = 0;  // its slot in the ring is freed in turn
  }
}

}  // namespace softgpu
