#include "driver/buffers.h"

#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "driver/hooks.h"
#include "driver/log.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

constexpr uint64_t kGranule = 1 << 16;
constexpr uint64_t kMagic = 0x72656666'75625f67;

uint64_t rounded(uint64_t bytes) { return (bytes + kGranule - 1) & ~(kGranule - 1); }
bool is_vram(uint32_t flags) { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0; }
bool is_user(uint32_t flags) { return (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0; }
bool is_doorbell(uint32_t flags) {
  return (flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) != 0;
}

bool lock(int fd, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

uint64_t inode_of(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 ? about.st_ino : 0;
}

}  // namespace

MemoryFile::~MemoryFile() {
  if (foreign) close_kept(fd);
}

Buffers::Buffers(const Config& config, Session& session, int file)
    : config_(config),
      session_(session),
      file_(std::make_shared<MemoryFile>(file, false)),
      inode_(inode_of(file)) {}

BufferRef Buffers::keep(Buffer* buffer) {
  return BufferRef(buffer, [this](Buffer* last) { dispose(last); });
}

int Buffers::make(uint64_t bytes, uint32_t gpu, uint32_t flags, uint64_t user_address,
                  BufferRef& made) {
  if (bytes == 0) return EINVAL;
  free_unused();
  const uint64_t whole = rounded(bytes);
  if (is_vram(flags) && !session_.charge_vram(gpu, whole, config_.gpus[gpu].vram_bytes)) {
    log(2, "GPU %u: no VRAM left for %llu bytes", gpu, static_cast<unsigned long long>(bytes));
    return ENOMEM;
  }
  auto* buffer = new Buffer{.file = file_, .bytes = bytes, .gpu = gpu, .flags = flags};
  if (is_user(flags)) {
    buffer->user_address = buffer->mmap_offset = user_address;
  } else if (is_doorbell(flags)) {
    buffer->offset = buffer->mmap_offset = doorbell_offset(gpu);
  } else {
    std::lock_guard guard(mutex_);
    buffer->offset = buffer->mmap_offset = next_offset_;
    next_offset_ += whole;
    if (!is_vram(flags)) session_.add_gtt(gpu, static_cast<int64_t>(whole));
  }
  made = keep(buffer);
  return 0;
}

// For a buffer of this process: frees its pages.
void Buffers::give_back(const Buffer& buffer) {
  const uint64_t bytes = rounded(buffer.bytes);
  fallocate(file_->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(buffer.offset), static_cast<off_t>(bytes));
  if (is_vram(buffer.flags)) {
    session_.release_vram(buffer.gpu, bytes);
  } else {
    session_.add_gtt(buffer.gpu, -static_cast<int64_t>(bytes));
  }
}

void Buffers::dispose(Buffer* last) {
  const std::unique_ptr<Buffer> buffer(last);
  if (buffer->share) {
    std::lock_guard guard(mutex_);
    const auto known = shared_.find(*buffer->share);
    if (known != shared_.end() && known->second.expired()) shared_.erase(known);
    foreign_.erase(buffer->mmap_offset);
  }
  if (buffer->file->foreign) {
    close_kept(buffer->hold);
    return;
  }
  if (is_user(buffer->flags) || is_doorbell(buffer->flags)) return;
  if (!buffer->share || retire(*buffer->share)) {
    give_back(*buffer);
  } else {
    std::lock_guard guard(mutex_);
    unused_.push_back(*buffer);
  }
  free_unused();
}

void Buffers::free_unused() {
  std::lock_guard guard(mutex_);
  std::erase_if(unused_, [this](const Buffer& buffer) {
    if (!retire(*buffer.share)) return false;
    give_back(buffer);
    return true;
  });
}

std::string Buffers::path(const ShareName& name) const {
  return config_.tree + std::string(kShares) + "/" + std::to_string(name.pid) + "-" +
         std::to_string(name.number);
}

// Whether the buffer has no holders left; if so, it can no longer be found.
bool Buffers::retire(const ShareName& name) const {
  const std::string file = path(name);
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return true;  // the whole tree is gone
  const bool unused = lock(fd, F_WRLCK);
  if (unused) ::unlink(file.c_str());
  ::close(fd);
  return unused;
}

int Buffers::share(const BufferRef& ref, ShareName& name) {
  Buffer& buffer = *ref;
  if (is_user(buffer.flags) || is_doorbell(buffer.flags)) return EINVAL;
  std::lock_guard guard(mutex_);
  if (!buffer.share) {
    const ShareInfo info{.magic = kMagic,
                         .name = {getpid(), next_share_},
                         .inode = inode_,
                         .file = file_->fd,
                         .gpu = buffer.gpu,
                         .flags = buffer.flags,
                         .offset = buffer.offset,
                         .bytes = buffer.bytes};
    std::error_code ignored;
    std::filesystem::create_directory(config_.tree + std::string(kShares), ignored);
    const int fd = ::open(path(info.name).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    const bool written = pwrite(fd, &info, sizeof info, 0) == sizeof info &&
                         ftruncate(fd, static_cast<off_t>(buffer.bytes)) == 0;
    ::close(fd);
    if (!written) return ENOSPC;
    ++next_share_;
    buffer.share = info.name;
    shared_[info.name] = ref;
  }
  name = *buffer.share;
  return 0;
}

int Buffers::open_share(const BufferRef& buffer, bool close_on_exec, int& fd) {
  ShareName name;
  if (const int error = share(buffer, name)) return error;
  fd = ::open(path(name).c_str(), O_RDWR | (close_on_exec ? O_CLOEXEC : 0));
  if (fd < 0) return errno;
  if (lock(fd, F_RDLCK)) return 0;
  ::close(fd);
  return EBUSY;
}

std::optional<ShareInfo> Buffers::info(int fd) const {
  ShareInfo info;
  struct stat about {};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  if (pread(fd, &info, sizeof info, 0) != sizeof info || info.magic != kMagic ||
      static_cast<uint64_t>(about.st_size) != info.bytes || info.gpu >= config_.gpus.size()) {
    return std::nullopt;
  }
  return info;
}

std::shared_ptr<MemoryFile> Buffers::memory_of(const ShareInfo& info) {
  if (auto known = files_[info.name.pid].lock()) {
    if (inode_of(known->fd) == info.inode) return known;
  }
  const std::string there =
      "/proc/" + std::to_string(info.name.pid) + "/fd/" + std::to_string(info.file);
  const int fd = ::open(there.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  if (inode_of(fd) != info.inode) {
    ::close(fd);
    return nullptr;
  }
  auto file = std::make_shared<MemoryFile>(keep_away(fd), true);
  files_[info.name.pid] = file;
  return file;
}

int Buffers::import(const ShareName& name, BufferRef& buffer) {
  std::unique_lock guard(mutex_);
  if (const auto known = shared_.find(name); known != shared_.end()) {
    if ((buffer = known->second.lock())) return 0;
  }
  const int fd = ::open(path(name).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return EINVAL;
  const auto about = info(fd);
  const auto file = about && lock(fd, F_RDLCK) ? memory_of(*about) : nullptr;
  if (!file) {
    ::close(fd);
    log(1, "the memory of process %d cannot be reached", name.pid);
    return EINVAL;
  }
  auto* made = new Buffer{.file = file,
                          .offset = about->offset,
                          .bytes = about->bytes,
                          .mmap_offset = next_foreign_offset_,
                          .gpu = about->gpu,
                          .flags = about->flags,
                          .share = name,
                          .hold = keep_away(fd)};
  next_foreign_offset_ += rounded(about->bytes);
  buffer = keep(made);
  shared_[name] = buffer;
  foreign_[made->mmap_offset] = buffer;
  return 0;
}

int Buffers::import(int fd, BufferRef& buffer) {
  const auto about = info(fd);
  return about ? import(about->name, buffer) : EINVAL;
}

std::optional<Buffers::Place> Buffers::foreign_place(uint64_t mmap_offset) const {
  BufferRef buffer;  // if it is the last reference, it is released without the lock
  std::lock_guard guard(mutex_);
  auto found = foreign_.upper_bound(mmap_offset);
  if (found == foreign_.begin()) return std::nullopt;
  buffer = (--found)->second.lock();
  if (!buffer || mmap_offset - found->first >= rounded(buffer->bytes)) return std::nullopt;
  return Place{buffer->file->fd, buffer->offset + (mmap_offset - found->first)};
}

std::optional<Buffers::Place> Buffers::shared_place(int fd, uint64_t offset) {
  const auto about = info(fd);
  if (!about || offset >= about->bytes) return std::nullopt;
  std::lock_guard guard(mutex_);
  const auto file = about->inode == inode_ ? file_ : memory_of(*about);
  if (!file) return std::nullopt;
  direct_.insert(file);
  return Place{file->fd, about->offset + offset};
}

void Buffers::leave_to_parent() {
  for (auto& [offset, kept] : foreign_) {
    if (const BufferRef buffer = kept.lock()) close_kept(buffer->hold);
  }
  for (auto& [pid, kept] : files_) {
    if (const auto file = kept.lock()) close_kept(file->fd);
  }
}

}  // namespace softgpu
