// Memory: the allocations of one process and the GPUs' view of its address space.
//
// All memory is one sparse memory file: an allocation is a range of it that is never used again, so
// an offset is the mmap offset that the driver hands out. Mapping an allocation to a GPU also maps
// it in the process, at its GPU address: a GPU address is a pointer.
//
// Memory that the program registered is the exception. libhsakmt gives it a second address for
// GPUs, where the same pages cannot be mapped as well: own_address() leads back to the first.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "config/config.h"
#include "driver/session.h"

namespace softgpu {

class Memory {
 public:
  // `file` is the memory file, which stays the caller's.
  Memory(const Config& config, Session& session, int file);

  static constexpr uint64_t kFileBytes = uint64_t{1} << 62;
  // Each GPU's doorbells. libhsakmt keeps the lower bits of such an offset apart from the GPU's
  // number, which the kernel driver has at bit 46 too.
  static constexpr uint64_t kDoorbellBytes = 8192;
  static constexpr uint64_t doorbell_offset(uint32_t gpu) { return uint64_t{gpu} << 46; }

  struct Request {
    uint64_t address = 0, bytes = 0;
    uint32_t gpu = 0, flags = 0;  // KFD_IOC_ALLOC_MEM_FLAGS_*
    uint64_t user_address = 0;    // of user memory
  };
  struct Made {
    uint64_t handle = 0, offset = 0;
  };
  // Each gives 0 or an errno value.
  int allocate(const Request& request, Made& made);
  int free(uint64_t handle);
  int map(uint64_t handle, uint32_t gpu);
  int unmap(uint64_t handle, uint32_t gpu);
  // The pointer for a GPU's address.
  uint64_t own_address(uint64_t address) const;

  struct Range {
    uint32_t gpu = 0;
    uint64_t address = 0, bytes = 0;
  };
  // Where the process has this GPU's doorbells, if `handle` is theirs.
  std::optional<Range> doorbells(uint64_t handle) const;

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const;

 private:
  struct Allocation {
    uint64_t address = 0, bytes = 0, handle = 0, offset = 0;
    uint32_t gpu = 0, flags = 0, mapped_gpus = 0;
    uint64_t user_address = 0;

    bool is_registered() const { return user_address != 0 && user_address != address; }
  };
  const Config& config_;
  Session& session_;
  const int file_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> by_address_;
  std::map<uint64_t, uint64_t> address_of_;   // handle -> address
  std::atomic<uint64_t> registered_ = 0;      // allocations whose own address is another
  uint64_t next_offset_ = uint64_t{1} << 50;  // behind all doorbells
  uint64_t next_handle_ = 1;
};

}  // namespace softgpu
