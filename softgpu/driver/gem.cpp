#include "driver/gem.h"

#include <cerrno>

namespace softgpu {

int Gem::import(uint32_t gpu, int fd, uint32_t& handle) {
  BufferRef buffer;
  if (const int error = memory_.buffers().import(fd, buffer)) return error;
  std::lock_guard lock(mutex_);
  for (const auto& [key, known] : buffers_) {
    if (key.first != gpu || known != buffer) continue;
    handle = key.second;
    return 0;
  }
  handle = next_++;
  buffers_[{gpu, handle}] = buffer;
  return 0;
}

int Gem::export_fd(uint32_t gpu, uint32_t handle, bool close_on_exec, int& fd) {
  const BufferRef found = buffer(gpu, handle);
  return found ? memory_.buffers().open_share(found, close_on_exec, fd) : ENOENT;
}

int Gem::close(uint32_t gpu, uint32_t handle) {
  BufferRef closed;
  {
    std::lock_guard lock(mutex_);
    const auto found = buffers_.find({gpu, handle});
    if (found == buffers_.end()) return EINVAL;
    closed = std::move(found->second);
    buffers_.erase(found);
  }
  memory_.unmap_pieces(closed, gpu);
  return 0;
}

BufferRef Gem::buffer(uint32_t gpu, uint32_t handle) const {
  std::lock_guard lock(mutex_);
  const auto found = buffers_.find({gpu, handle});
  return found == buffers_.end() ? nullptr : found->second;
}

}  // namespace softgpu
