// Gem: DRM's handles of buffers. ROCr's virtual memory management goes this way: it exports memory
// from KFD, imports it here and maps pieces of it. For a program, handles of one GPU are the same
// in all of its descriptors.
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

  // Each gives 0 or an errno value. A buffer that a GPU has already keeps its handle there.
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
