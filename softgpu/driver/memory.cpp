#include "driver/memory.h"

#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "driver/log.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

constexpr uint64_t kGranule = 1 << 16;

uint64_t rounded(uint64_t bytes) { return (bytes + kGranule - 1) & ~(kGranule - 1); }
bool is_vram(uint32_t flags) { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0; }
bool is_user(uint32_t flags) { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0; }
bool is_doorbell(uint32_t flags) {
  return (flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) != 0;
}
// The program itself maps what it may touch; what only the GPU may touch is ours to map.
bool is_private(uint32_t flags) {
  return is_vram(flags) && (flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) == 0;
}

}  // namespace

Memory::Memory(const Config& config, Session& session, int file)
    : config_(config), session_(session), file_(file) {}

int Memory::allocate(const Request& request, Made& made) {
  if (request.bytes == 0) return EINVAL;
  Allocation allocation{.address = request.address,
                        .bytes = request.bytes,
                        .gpu = request.gpu,
                        .flags = request.flags};
  const uint64_t bytes = rounded(request.bytes);
  if (is_vram(request.flags) &&
      !session_.charge_vram(request.gpu, bytes, config_.gpus[request.gpu].vram_bytes)) {
    log(2, "GPU %u: no VRAM left for %llu bytes", request.gpu,
        static_cast<unsigned long long>(request.bytes));
    return ENOMEM;
  }
  std::unique_lock lock(mutex_);
  if (is_user(request.flags)) {
    allocation.user_address = request.user_address;
    made.offset = request.user_address;
    if (allocation.is_registered()) ++registered_;
  } else if (is_doorbell(request.flags)) {
    allocation.offset = made.offset = doorbell_offset(request.gpu);
  } else {
    allocation.offset = made.offset = next_offset_;
    next_offset_ += bytes;
    if (!is_vram(request.flags)) session_.add_gtt(request.gpu, static_cast<int64_t>(bytes));
  }
  allocation.handle = made.handle = uint64_t{gpu_id(request.gpu)} << 32 | next_handle_++;
  by_address_[allocation.address] = allocation;
  address_of_[allocation.handle] = allocation.address;
  log(3, "allocate %#llx + %#llx, flags %#x, GPU %u",
      static_cast<unsigned long long>(allocation.address),
      static_cast<unsigned long long>(allocation.bytes), allocation.flags, allocation.gpu);
  return 0;
}

int Memory::free(uint64_t handle) {
  std::unique_lock lock(mutex_);
  auto found = address_of_.find(handle);
  if (found == address_of_.end()) return EINVAL;
  const Allocation allocation = by_address_[found->second];
  by_address_.erase(found->second);
  address_of_.erase(found);
  if (allocation.is_registered()) --registered_;
  lock.unlock();
  if (is_user(allocation.flags) || is_doorbell(allocation.flags)) return 0;
  const uint64_t bytes = rounded(allocation.bytes);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(allocation.offset), static_cast<off_t>(bytes));
  if (is_vram(allocation.flags)) {
    session_.release_vram(allocation.gpu, bytes);
  } else {
    session_.add_gtt(allocation.gpu, -static_cast<int64_t>(bytes));
  }
  return 0;
}

int Memory::map(uint64_t handle, uint32_t gpu) {
  std::unique_lock lock(mutex_);
  auto found = address_of_.find(handle);
  if (found == address_of_.end()) return EINVAL;
  Allocation& allocation = by_address_[found->second];
  const bool first = allocation.mapped_gpus == 0;
  if (first && !is_user(allocation.flags)) {
    void* at = ::mmap(reinterpret_cast<void*>(allocation.address), allocation.bytes,
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                      static_cast<off_t>(allocation.offset));
    if (at == MAP_FAILED) return errno;
  }
  allocation.mapped_gpus |= 1u << gpu;
  return 0;
}

int Memory::unmap(uint64_t handle, uint32_t gpu) {
  std::unique_lock lock(mutex_);
  auto found = address_of_.find(handle);
  if (found == address_of_.end()) return EINVAL;
  Allocation& allocation = by_address_[found->second];
  const bool was_mapped = allocation.mapped_gpus != 0;
  allocation.mapped_gpus &= ~(1u << gpu);
  if (was_mapped && allocation.mapped_gpus == 0 && is_private(allocation.flags)) {
    // The address stays the program's; a stray access is a fault again, as on a GPU.
    (void)::mmap(reinterpret_cast<void*>(allocation.address), allocation.bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  return 0;
}

std::optional<Memory::Range> Memory::doorbells(uint64_t handle) const {
  std::shared_lock lock(mutex_);
  auto found = address_of_.find(handle);
  if (found == address_of_.end()) return std::nullopt;
  const Allocation& allocation = by_address_.at(found->second);
  if ((allocation.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) == 0) return std::nullopt;
  return Range{allocation.gpu, allocation.address, allocation.bytes};
}

uint64_t Memory::own_address(uint64_t address) const {
  if (registered_.load(std::memory_order_relaxed) == 0) return address;
  std::shared_lock lock(mutex_);
  auto found = by_address_.upper_bound(address);
  if (found == by_address_.begin()) return address;
  const Allocation& allocation = (--found)->second;
  if (!allocation.is_registered() || address >= allocation.address + allocation.bytes) {
    return address;
  }
  return allocation.user_address + (address - allocation.address);
}

bool Memory::is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const {
  const uint64_t end = address + bytes;
  if (end < address) return false;
  std::shared_lock lock(mutex_);
  // An access may go over neighbouring allocations.
  do {
    auto found = by_address_.upper_bound(address);
    if (found == by_address_.begin()) return false;
    const Allocation& allocation = (--found)->second;
    const uint64_t known_until = allocation.address + allocation.bytes;
    if (address >= known_until || (allocation.mapped_gpus >> gpu & 1) == 0) return false;
    address = known_until;
  } while (address < end);
  return true;
}

}  // namespace softgpu
