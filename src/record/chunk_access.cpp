#include "record/chunk_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "base/unique_fd.h"

namespace sonde::record {

bool read_at(int fd, void* to, size_t size, uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::pread(fd, at, size, static_cast<off_t>(offset));
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  // Later reads must not be older than this one.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

bool return_chunk(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return true;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return true;
  auto* header = static_cast<wire::ChunkHeader*>(memory);
  auto expected = wire::ChunkState::kSealed;
  const bool returned =
      std::atomic_ref(header->state)
          .compare_exchange_strong(expected, wire::ChunkState::kDrained, std::memory_order_acq_rel);
  ::munmap(memory, 4096);
  return returned || expected != wire::ChunkState::kAbandoned;
}

bool read_status(const std::string& path, wire::ChunkStatus& header) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() && read_at(fd.get(), &header, sizeof header, 0);
}

}  // namespace sonde::record
