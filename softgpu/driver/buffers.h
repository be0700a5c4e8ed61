// Buffers: pieces of memory that GPUs can reach, apart from where they are mapped. Used by Memory,
// which gives them addresses, and by Gem, which gives them DRM's handles.
//
// A buffer of this process is a range of its memory file that is never used again. Other processes
// reach it through a file in the tree that stands for it: as big as the buffer, so that it has a
// DMA buffer's size, and with a ShareInfo in front. Whoever uses the buffer holds a read lock on an
// open description of that file: a descriptor that was passed on does so by itself, and the kernel
// takes the lock away however its holders end. The owner gives the pages back once nobody has a
// lock.
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

// Where a GPU's doorbells are in the memory file. libhsakmt keeps the lower bits of such an offset
// apart from the GPU's number, which the kernel driver has at bit 46 too.
constexpr uint64_t doorbell_offset(uint32_t gpu) { return uint64_t{gpu} << 46; }

// The name that a buffer has for all processes.
struct ShareName {
  int32_t pid = 0;  // whose memory file it is in
  uint32_t number = 0;
  auto operator<=>(const ShareName&) const = default;
};

struct ShareInfo {
  uint64_t magic = 0;
  ShareName name;
  uint64_t inode = 0;  // of the memory file: a later process may have the same number
  int32_t file = -1;   // its descriptor there
  uint32_t gpu = 0, flags = 0, pad = 0;
  uint64_t offset = 0, bytes = 0;
};

// A memory file, its descriptor closed at the end if it is another process's.
struct MemoryFile : sonde::Pinned {
  MemoryFile(int file, bool is_foreign) : fd(file), foreign(is_foreign) {}
  ~MemoryFile();

  const int fd;
  const bool foreign;
};

struct Buffer {
  std::shared_ptr<MemoryFile> file;
  uint64_t offset = 0, bytes = 0;  // in the file
  uint64_t mmap_offset = 0;        // by which the program maps it
  uint32_t gpu = 0, flags = 0;     // KFD_IOC_ALLOC_MEM_FLAGS_*
  uint64_t user_address = 0;       // of user memory, which is in no file
  std::optional<ShareName> share;
  int hold = -1;  // keeps a buffer of another process
};
using BufferRef = std::shared_ptr<Buffer>;

class Buffers {
 public:
  // `file` is the process's memory file, which stays the caller's.
  Buffers(const Config& config, Session& session, int file);

  // Each gives 0 or an errno value.
  int make(uint64_t bytes, uint32_t gpu, uint32_t flags, uint64_t user_address, BufferRef& made);
  int share(const BufferRef& buffer, ShareName& name);
  // A descriptor that stands for the buffer, as a DMA buffer's does.
  int open_share(const BufferRef& buffer, bool close_on_exec, int& fd);
  int import(const ShareName& name, BufferRef& buffer);
  int import(int fd, BufferRef& buffer);
  // Nothing if the descriptor is no buffer's.
  std::optional<ShareInfo> info(int fd) const;

  struct Place {
    int fd = -1;
    uint64_t offset = 0;
  };
  // Where a buffer of another process is that has this offset here.
  std::optional<Place> foreign_place(uint64_t mmap_offset) const;
  // Where the memory is that a descriptor of a buffer stands for; valid as long as that is open.
  std::optional<Place> shared_place(int fd, uint64_t offset);
  // In the child of fork(): what is kept here is its parent's.
  void leave_to_parent();

 private:
  void dispose(Buffer* buffer);
  void give_back(const Buffer& buffer);
  void give_back_what_nobody_uses();
  bool retire(const ShareName& name) const;
  std::string path(const ShareName& name) const;
  std::shared_ptr<MemoryFile> memory_of(const ShareInfo& info);
  BufferRef keep(Buffer* buffer);

  const Config& config_;
  Session& session_;
  const std::shared_ptr<MemoryFile> file_;
  uint64_t inode_ = 0;

  mutable std::mutex mutex_;
  uint64_t next_offset_ = uint64_t{1} << 50;          // behind all doorbells
  uint64_t next_foreign_offset_ = uint64_t{1} << 61;  // behind all that this process may have
  uint32_t next_share_ = 1;
  std::map<ShareName, std::weak_ptr<Buffer>> shared_;
  std::map<uint64_t, std::weak_ptr<Buffer>> foreign_;   // by their offset here
  std::map<int32_t, std::weak_ptr<MemoryFile>> files_;  // of other processes
  std::set<std::shared_ptr<MemoryFile>> direct_;        // that the program mapped by descriptors
  std::vector<Buffer> unused_;                          // that other processes still have
};

}  // namespace softgpu
