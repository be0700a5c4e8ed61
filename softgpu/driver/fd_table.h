// FdTable: which file descriptors of the process are device files of the software GPU. All of them
// are duplicates of the same memory file, so only their numbers distinguish them.
//
// A child made by vfork() runs in its parent's memory until it calls exec, and may close
// descriptors there: it must not change the parent's table. Only the process that owns the table
// does; fork() makes the child an owner of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace softgpu {

struct DeviceFile {
  enum Kind : uint8_t { kNone, kKfd, kRender, kCard, kInternal } kind = kNone;
  uint8_t gpu = 0;
};

class FdTable {
 public:
  static constexpr int kMost = 1 << 20;

  DeviceFile find(int fd) const;
  bool set(int fd, DeviceFile file);  // false: the number is too large
  void copy(int from, int to) { set(to, find(from)); }
  void clear(int fd) { set(fd, {}); }
  // In the child of fork(): the entries are its parent's, and have no device.
  void become_child();

 private:
  bool owned() const;

  // Accessed through atomic_ref: an array of atomics could not be in zeroed memory from the start.
  mutable uint8_t files_[kMost] = {};
  std::atomic<int> owner_{0};
};

}  // namespace softgpu
