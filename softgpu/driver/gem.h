// Gem: DRM handles of buffers. ROCr's virtual memory management uses these: it exports memory from
// KFD, imports it here and maps pieces of it. All of a program's descriptors for a GPU share their
// handles.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "driver/memory.h"

namespace softgpu {

class Gem {
 public:
  explicit Gem(Memory& memory) : memory_(memory) {}

  // These return 0 or an errno. A buffer that a GPU already has keeps its handle there.
  int import(uint32_t gpu, int fd, uint32_t& handle);
  int export_fd(uint32_t gpu, uint32_t handle, bool close_on_exec, int& fd);
  int close(uint32_t gpu, uint32_t handle);
  BufferRef buffer(uint32_t gpu, uint32_t handle) const;

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // GPU, handle

  Memory& memory_;
  mutable std::mutex mutex_;
  std::map<Key, BufferRef> buffers_;
  uint32_t next_ = 1;
};

}  // namespace softgpu
