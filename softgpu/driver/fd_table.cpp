#include "driver/fd_table.h"

#include <unistd.h>

namespace softgpu {
namespace {

constexpr int kGpuBits = 4;
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

bool FdTable::owned() const {
  const int owner = owner_.load(kRelaxed);
  return owner == 0 || owner == getpid();
}

DeviceFile FdTable::find(int fd) const {
  if (fd < 0 || fd >= kMost) return {};
  const uint8_t value = std::atomic_ref(files_[fd]).load(kRelaxed);
  return {static_cast<DeviceFile::Kind>(value >> kGpuBits),
          static_cast<uint8_t>(value & ((1 << kGpuBits) - 1))};
}

bool FdTable::set(int fd, DeviceFile file) {
  if (fd < 0 || fd >= kMost) return file.kind == DeviceFile::kNone;
  const auto value = static_cast<uint8_t>(file.kind << kGpuBits | file.gpu);
  // Nearly always "none" stays "none": a load, and no system call to check the owner.
  if (std::atomic_ref(files_[fd]).load(kRelaxed) == value) return true;
  if (!owned()) return true;
  if (owner_.load(kRelaxed) == 0) owner_.store(getpid());
  std::atomic_ref(files_[fd]).store(value, kRelaxed);
  return true;
}

void FdTable::become_child() {
  if (owner_.load(kRelaxed) == 0) return;
  for (uint8_t& file : files_) {
    if (file != 0) file = 0;  // zero pages stay shared
  }
  owner_.store(0);
}

}  // namespace softgpu
