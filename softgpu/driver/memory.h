// Memory: the allocations of one process and the GPUs' view of its address space.
//
// Mapping a buffer to a GPU also maps it in the process, at its GPU address: a GPU address is a
// pointer.
//
// Registered memory is the exception. libhsakmt gives it a second address for GPUs, at which the
// same pages cannot be mapped as well: own_address() gives the first one.
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
  // `file` is the memory file, which the caller keeps.
  Memory(const Config& config, Session& session, int file) : buffers_(config, session, file) {}

  static constexpr uint64_t kFileBytes = uint64_t{1} << 62;
  static constexpr uint64_t kDoorbellBytes = 8192;  // per GPU

  struct Request {
    uint64_t address = 0, bytes = 0;  // no address (0, or an invalid one): only memory
    uint32_t gpu = 0, flags = 0;      // KFD_IOC_ALLOC_MEM_FLAGS_*
    uint64_t user_address = 0;        // of user memory
  };
  struct Made {
    uint64_t handle = 0, offset = 0;
  };
  // These return 0 or an errno.
  int allocate(const Request& request, Made& made);
  // Maps an existing buffer, of this or another process, at a new address.
  int add(const BufferRef& buffer, uint64_t address, uint32_t gpu, Made& made);
  int free(uint64_t handle);
  int map(uint64_t handle, uint32_t gpu);
  int unmap(uint64_t handle, uint32_t gpu);
  // Null if there is no such handle.
  BufferRef buffer(uint64_t handle) const;
  Buffers& buffers() { return buffers_; }
  FreedRanges& freed() { return freed_; }

  // A part of a buffer that DRM maps at an address. Two GPUs may have the same mapping.
  struct Piece {
    uint64_t address = 0, bytes = 0, offset = 0;
    bool writable = true;
  };
  int map_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu);
  int unmap_piece(const BufferRef& buffer, const Piece& piece, uint32_t gpu);
  // Unmaps all pieces of a buffer on this GPU.
  void unmap_pieces(const BufferRef& buffer, uint32_t gpu);

  // The pointer for a GPU address.
  uint64_t own_address(uint64_t address) const;

  struct Range {
    uint32_t gpu = 0;
    uint64_t address = 0, bytes = 0;
  };
  // Where the process has mapped this GPU's doorbells, if `handle` is theirs.
  std::optional<Range> doorbells(uint64_t handle) const;

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const;
  // The range that any GPU may access around an address of the process, registered memory at its
  // own address; no bytes if there is none. `is_vram`: it is a GPU's own memory.
  struct Around {
    uint64_t address = 0, bytes = 0;
    bool is_vram = false;
  };
  Around around(uint64_t address) const;

 private:
  struct Mapping {
    uint64_t address = 0, bytes = 0, offset = 0;  // offset: in the buffer
    BufferRef buffer;
    uint32_t mapped_gpus = 0;
    bool piece = false;  // mapped by DRM

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

  Buffers buffers_;  // first: the other members refer to buffers
  FreedRanges freed_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Mapping> by_address_;
  std::map<uint64_t, Allocation> allocations_;  // by handle
  std::atomic<uint64_t> registered_ = 0;        // number of mappings whose own address differs
  uint64_t next_handle_ = 1;
};

}  // namespace softgpu
