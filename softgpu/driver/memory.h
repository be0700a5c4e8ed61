// Memory: the allocations of one process and the GPUs' view of its address space.
//
// Mapping a buffer to a GPU also maps it in the process, at its GPU address: a GPU address is a
// pointer.
//
// Memory that the program registered is the exception. libhsakmt gives it a second address for
// GPUs, where the same pages cannot be mapped as well: own_address() leads back to the first.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "driver/buffers.h"
#include "driver/freed_ranges.h"

namespace softgpu {

class Memory {
 public:
  // `file` is the memory file, which stays the caller's.
  Memory(const Config& config, Session& session, int file) : buffers_(config, session, file) {}

  static constexpr uint64_t kFileBytes = uint64_t{1} << 62;
  static constexpr uint64_t kDoorbellBytes = 8192;  // of each GPU

  struct Request {
    uint64_t address = 0, bytes = 0;  // no address (0, or one that no process has): only memory
    uint32_t gpu = 0, flags = 0;      // KFD_IOC_ALLOC_MEM_FLAGS_*
    uint64_t user_address = 0;        // of user memory
  };
  struct Made {
    uint64_t handle = 0, offset = 0;
  };
  // Each gives 0 or an errno value.
  int allocate(const Request& request, Made& made);
  // A buffer that is there already, of this process or another, at a new address.
  int add(const BufferRef& buffer, uint64_t address, uint32_t gpu, Made& made);
  int free(uint64_t handle);
  int map(uint64_t handle, uint32_t gpu);
  int unmap(uint64_t handle, uint32_t gpu);
  // Null if there is no such handle.
  BufferRef buffer(uint64_t handle) const;
  Buffers& buffers() { return buffers_; }
  FreedRanges& freed() { return freed_; }

  // A part of a buffer at an address, as DRM maps it. Two GPUs may have the same mapping.
  struct Piece {
    uint64_t address = 0, bytes = 0, offset = 0;
    bool writable = true;
  };
  int map_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu);
  int unmap_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu);
  // All pieces of a buffer that this GPU has.
  void unmap_pieces(const BufferRef& buffer, uint32_t gpu);

  // The pointer for a GPU's address.
  uint64_t own_address(uint64_t address) const;

  struct Range {
    uint32_t gpu = 0;
    uint64_t address = 0, bytes = 0;
  };
  // Where the process has this GPU's doorbells, if `handle` is theirs.
  std::optional<Range> doorbells(uint64_t handle) const;

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const;
  // What any GPU may use around an address of the process, registered memory at its own address;
  // no bytes if that is nothing. `is_vram`: it is a GPU's own.
  struct Around {
    uint64_t address = 0, bytes = 0;
    bool is_vram = false;
  };
  Around around(uint64_t address) const;

 private:
  struct Mapping {
    uint64_t address = 0, bytes = 0, offset = 0;  // the offset in the buffer
    BufferRef buffer;
    uint32_t mapped_gpus = 0;
    bool piece = false;  // DRM's

    bool is_registered() const {
      return buffer->user_address != 0 && buffer->user_address != address;
    }
  };
  struct Allocation {
    BufferRef buffer;
    uint64_t address = 0;  // 0: none
  };

  uint64_t place(const BufferRef& buffer, uint64_t address, uint32_t gpu);
  Mapping* mapping_of(uint64_t handle);
  bool overlaps(uint64_t address, uint64_t bytes) const;

  Buffers buffers_;  // before all that refers to buffers
  FreedRanges freed_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Mapping> by_address_;
  std::map<uint64_t, Allocation> allocations_;  // by their handles
  std::atomic<uint64_t> registered_ = 0;        // mappings whose own address is another
  uint64_t next_handle_ = 1;
};

}  // namespace softgpu
