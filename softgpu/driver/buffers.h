// Buffers: memory that GPUs can access, independent of where it is mapped. Used by Memory, which
// gives buffers addresses, and by Gem, which gives them DRM handles.
//
// A buffer of this process is a range of its memory file that is never reused. Other processes
// reach it through a file in the tree: of the buffer's size, so that it has the size of a DMA
// buffer, and with a ShareInfo in front. Every user of the buffer holds a read lock on an open file
// description of that file: a descriptor that was passed on does so automatically, and the kernel
// releases the lock however its holders end. The owner frees the pages once there are no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "driver/session.h"

namespace softgpu {

// Where a GPU's doorbells are in the memory file. libhsakmt separates the lower bits of such an
// offset from the GPU's number, which the kernel driver has at bit 46, too.
constexpr uint64_t doorbell_offset(uint32_t gpu) { return uint64_t{gpu} << 46; }

// A buffer's name for all processes.
struct ShareName {
  int32_t pid = 0;  // owner of the memory file
  uint32_t number = 0;
  auto operator<=>(const ShareName&) const = default;
};

struct ShareInfo {
  uint64_t magic = 0;
  ShareName name;
  uint64_t inode = 0;  // of the memory file: a later process may reuse the pid
  int32_t file = -1;   // its descriptor there
  uint32_t gpu = 0, flags = 0, pad = 0;
  uint64_t offset = 0, bytes = 0;
};

// A memory file; its descriptor is closed at the end if it belongs to another process.
struct MemoryFile : sonde::Pinned {
  MemoryFile(int file, bool is_foreign) : fd(file), foreign(is_foreign) {}
  ~MemoryFile();

  const int fd;
  const bool foreign;
};

struct Buffer {
  std::shared_ptr<MemoryFile> file;
  uint64_t offset = 0, bytes = 0;  // in the file
  uint64_t mmap_offset = 0;        // with which the program maps it
  uint32_t gpu = 0, flags = 0;     // KFD_IOC_ALLOC_MEM_FLAGS_*
  uint64_t user_address = 0;       // of user memory, which is not in a file
  std::optional<ShareName> share;
  int hold = -1;  // keeps a buffer of another process
};
using BufferRef = std::shared_ptr<Buffer>;

class Buffers {
 public:
  // `file` is the process' memory file, which the caller keeps.
  Buffers(const Config& config, Session& session, int file);

  // All of these return 0 or an errno.
  int make(uint64_t bytes, uint32_t gpu, uint32_t flags, uint64_t user_address, BufferRef& made);
  int share(const BufferRef& buffer, ShareName& name);
  // A descriptor that represents the buffer, like a DMA buffer's.
  int open_share(const BufferRef& buffer, bool close_on_exec, int& fd);
  int import(const ShareName& name, BufferRef& buffer);
  int import(int fd, BufferRef& buffer);
  // Nothing if the descriptor is not a buffer's.
  std::optional<ShareInfo> info(int fd) const;

  struct Place {
    int fd = -1;
    uint64_t offset = 0;
  };
  // Where the buffer of another process that has this offset here is.
  std::optional<Place> foreign_place(uint64_t mmap_offset) const;
  // Where the memory of a buffer's descriptor is; valid while the descriptor is open.
  std::optional<Place> shared_place(int fd, uint64_t offset);
  // In the child of fork(): everything here belongs to its parent.
  void leave_to_parent();

 private:
  void dispose(Buffer* buffer);
  void give_back(const Buffer& buffer);
  void free_unused();
  bool retire(const ShareName& name) const;
  std::string path(const ShareName& name) const;
  std::shared_ptr<MemoryFile> memory_of(const ShareInfo& info);
  BufferRef keep(Buffer* buffer);

  const Config& config_;
  Session& session_;
  const std::shared_ptr<MemoryFile> file_;
  uint64_t inode_ = 0;

  mutable std::mutex mutex_;
  uint64_t next_offset_ = uint64_t{1} << 50;          // after all doorbells
  uint64_t next_foreign_offset_ = uint64_t{1} << 61;  // after all that this process may have
  uint32_t next_share_ = 1;
  std::map<ShareName, std::weak_ptr<Buffer>> shared_;
  std::map<uint64_t, std::weak_ptr<Buffer>> foreign_;   // by their offset here
  std::map<int32_t, std::weak_ptr<MemoryFile>> files_;  // of other processes
  // That the program mapped through descriptors.
  std::set<std::shared_ptr<MemoryFile>> direct_;
  std::vector<Buffer> unused_;  // that other processes still use
};

}  // namespace softgpu
