#include "driver/memory.h"

#include <linux/kfd_ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <mutex>

#include "driver/log.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

constexpr uint64_t kEndOfAddresses = uint64_t{1} << 47;  // of a process' address space

bool is_user(uint32_t flags) { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0; }
// The program itself maps what it may access; what only the GPU may access is mapped here.
bool is_private(uint32_t flags) {
  return (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0 &&
         (flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) == 0;
}

// Returns 0 or an errno.
int map_here(const Buffer& buffer, uint64_t address, uint64_t bytes, uint64_t offset,
             int protection) {
  void* at = ::mmap(reinterpret_cast<void*>(address), bytes, protection, MAP_SHARED | MAP_FIXED,
                    buffer.file->fd, static_cast<off_t>(buffer.offset + offset));
  return at == MAP_FAILED ? errno : 0;
}

// The address stays reserved for the program; a stray access faults again, as on a GPU.
void reserve_here(uint64_t address, uint64_t bytes) {
  (void)::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

// Gives a buffer its handle and address.
uint64_t Memory::place(const BufferRef& buffer, uint64_t address, uint32_t gpu) {
  const bool has_address = address != 0 && address < kEndOfAddresses;
  const uint64_t handle = uint64_t{gpu_id(gpu)} << 32 | next_handle_++;
  allocations_[handle] = {buffer, has_address ? address : 0};
  if (!has_address) return handle;
  Mapping& mapping = by_address_[address];
  if (mapping.buffer && mapping.is_registered()) --registered_;
  mapping = {.address = address, .bytes = buffer->bytes, .buffer = buffer};
  if (mapping.is_registered()) ++registered_;
  freed_.remove(address, buffer->bytes);
  return handle;
}

int Memory::allocate(const Request& request, Made& made) {
  BufferRef buffer;
  if (const int error =
          buffers_.make(request.bytes, request.gpu, request.flags, request.user_address, buffer)) {
    return error;
  }
  log(3, "allocate %#llx + %#llx, flags %#x, GPU %u",
      static_cast<unsigned long long>(request.address),
      static_cast<unsigned long long>(request.bytes), request.flags, request.gpu);
  return add(buffer, request.address, request.gpu, made);
}

int Memory::add(const BufferRef& buffer, uint64_t address, uint32_t gpu, Made& made) {
  std::unique_lock lock(mutex_);
  made = {.handle = place(buffer, address, gpu), .offset = buffer->mmap_offset};
  return 0;
}

int Memory::free(uint64_t handle) {
  Allocation allocation;  // releases the buffer after the lock
  Mapping mapping;
  std::unique_lock lock(mutex_);
  auto found = allocations_.find(handle);
  if (found == allocations_.end()) return EINVAL;
  allocation = std::move(found->second);
  allocations_.erase(found);
  auto at = by_address_.find(allocation.address);
  if (at == by_address_.end() || at->second.buffer != allocation.buffer) return 0;
  mapping = std::move(at->second);
  by_address_.erase(at);
  if (mapping.is_registered()) --registered_;
  freed_.add(mapping.address, mapping.bytes);
  lock.unlock();
  return 0;
}

Memory::Mapping* Memory::mapping_of(uint64_t handle) {
  auto found = allocations_.find(handle);
  if (found == allocations_.end()) return nullptr;
  auto at = by_address_.find(found->second.address);
  const bool its_own = at != by_address_.end() && at->second.buffer == found->second.buffer;
  return its_own ? &at->second : nullptr;
}

int Memory::map(uint64_t handle, uint32_t gpu) {
  std::unique_lock lock(mutex_);
  Mapping* mapping = mapping_of(handle);
  if (mapping == nullptr) return EINVAL;
  if (mapping->mapped_gpus == 0 && !is_user(mapping->buffer->flags)) {
    if (const int error = map_here(*mapping->buffer, mapping->address, mapping->bytes, 0,
                                   PROT_READ | PROT_WRITE)) {
      return error;
    }
  }
  mapping->mapped_gpus |= 1u << gpu;
  return 0;
}

int Memory::unmap(uint64_t handle, uint32_t gpu) {
  std::unique_lock lock(mutex_);
  Mapping* mapping = mapping_of(handle);
  if (mapping == nullptr) return EINVAL;
  const bool was_mapped = mapping->mapped_gpus != 0;
  mapping->mapped_gpus &= ~(1u << gpu);
  if (was_mapped && mapping->mapped_gpus == 0 && is_private(mapping->buffer->flags)) {
    reserve_here(mapping->address, mapping->bytes);
  }
  return 0;
}

BufferRef Memory::buffer(uint64_t handle) const {
  std::shared_lock lock(mutex_);
  auto found = allocations_.find(handle);
  return found == allocations_.end() ? nullptr : found->second.buffer;
}

bool Memory::overlaps(uint64_t address, uint64_t bytes) const {
  auto next = by_address_.lower_bound(address);
  if (next != by_address_.end() && next->first < address + bytes) return true;
  if (next == by_address_.begin()) return false;
  const Mapping& before = std::prev(next)->second;
  return before.address + before.bytes > address;
}

int Memory::map_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu) {
  if (piece.bytes == 0 || piece.address == 0 || piece.address + piece.bytes > kEndOfAddresses ||
      piece.offset > buffer->bytes || piece.bytes > buffer->bytes - piece.offset) {
    return EINVAL;
  }
  std::unique_lock lock(mutex_);
  auto found = by_address_.find(piece.address);
  const bool same = found != by_address_.end() && found->second.piece &&
                    found->second.buffer == buffer && found->second.bytes == piece.bytes &&
                    found->second.offset == piece.offset;
  if (same ? (found->second.mapped_gpus >> gpu & 1) != 0 : overlaps(piece.address, piece.bytes)) {
    return EINVAL;
  }
  // Memory that is writable in one of them is writable in all.
  if (!same || piece.writable) {
    const int protection = PROT_READ | (piece.writable ? PROT_WRITE : 0);
    if (const int error = map_here(*buffer, piece.address, piece.bytes, piece.offset, protection)) {
      return error;
    }
  }
  Mapping& mapping = by_address_[piece.address];
  if (!same) {
    mapping = {.address = piece.address,
               .bytes = piece.bytes,
               .offset = piece.offset,
               .buffer = buffer,
               .piece = true};
    freed_.remove(piece.address, piece.bytes);
  }
  mapping.mapped_gpus |= 1u << gpu;
  return 0;
}

int Memory::unmap_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu) {
  BufferRef last;
  std::unique_lock lock(mutex_);
  auto found = by_address_.find(piece.address);
  if (found == by_address_.end() || !found->second.piece ||
      (buffer && found->second.buffer != buffer) || (found->second.mapped_gpus >> gpu & 1) == 0) {
    return ENOENT;
  }
  Mapping& mapping = found->second;
  mapping.mapped_gpus &= ~(1u << gpu);
  if (mapping.mapped_gpus != 0) return 0;
  reserve_here(mapping.address, mapping.bytes);
  freed_.add(mapping.address, mapping.bytes);
  last = std::move(mapping.buffer);
  by_address_.erase(found);
  lock.unlock();
  return 0;
}

void Memory::unmap_pieces(const BufferRef& buffer, uint32_t gpu) {
  std::unique_lock lock(mutex_);
  for (auto at = by_address_.begin(); at != by_address_.end();) {
    Mapping& mapping = at->second;
    const bool had =
        mapping.piece && mapping.buffer == buffer && (mapping.mapped_gpus >> gpu & 1) != 0;
    if (had) mapping.mapped_gpus &= ~(1u << gpu);
    if (had && mapping.mapped_gpus == 0) {
      reserve_here(mapping.address, mapping.bytes);
      freed_.add(mapping.address, mapping.bytes);
      at = by_address_.erase(at);  // the caller holds the buffer, so this does not destroy it
    } else {
      ++at;
    }
  }
}

std::optional<Memory::Range> Memory::doorbells(uint64_t handle) const {
  std::shared_lock lock(mutex_);
  auto found = allocations_.find(handle);
  if (found == allocations_.end()) return std::nullopt;
  const Allocation& allocation = found->second;
  if ((allocation.buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) == 0) return std::nullopt;
  return Range{allocation.buffer->gpu, allocation.address, allocation.buffer->bytes};
}

uint64_t Memory::own_address(uint64_t address) const {
  if (registered_.load(std::memory_order_relaxed) == 0) return address;
  std::shared_lock lock(mutex_);
  auto found = by_address_.upper_bound(address);
  if (found == by_address_.begin()) return address;
  const Mapping& mapping = (--found)->second;
  if (!mapping.is_registered() || address >= mapping.address + mapping.bytes) return address;
  return mapping.buffer->user_address + (address - mapping.address);
}

bool Memory::is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const {
  const uint64_t end = address + bytes;
  if (end < address) return false;
  std::shared_lock lock(mutex_);
  // An access may span adjacent mappings.
  do {
    auto found = by_address_.upper_bound(address);
    if (found == by_address_.begin()) return false;
    const Mapping& mapping = (--found)->second;
    const uint64_t known_until = mapping.address + mapping.bytes;
    if (address >= known_until || (mapping.mapped_gpus >> gpu & 1) == 0) return false;
    address = known_until;
  } while (address < end);
  return true;
}

Memory::Around Memory::around(uint64_t address) const {
  constexpr uint32_t kRegisters =
      KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP;
  const auto found_in = [&](const Mapping& mapping) -> Around {
    const uint64_t begin = mapping.is_registered() ? mapping.buffer->user_address : mapping.address;
    const bool is_it = address >= begin && address - begin < mapping.bytes &&
                       mapping.mapped_gpus != 0 && (mapping.buffer->flags & kRegisters) == 0;
    if (!is_it) return {};
    return {begin, mapping.bytes, (mapping.buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0};
  };
  std::shared_lock lock(mutex_);
  const auto behind = by_address_.upper_bound(address);
  if (behind != by_address_.begin()) {
    const Around found = found_in(std::prev(behind)->second);
    if (found.bytes != 0) return found;
  }
  if (registered_.load(std::memory_order_relaxed) == 0) return {};
  for (const auto& [begin, mapping] : by_address_) {
    if (!mapping.is_registered()) continue;
    const Around found = found_in(mapping);
    if (found.bytes != 0) return found;
  }
  return {};
}

}  // namespace softgpu
