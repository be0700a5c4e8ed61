#include "agent/chunk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/memory_calls.h"
#include "agent/state.h"
#include "base/uncancelled.h"

namespace sonde::agent {

namespace {

// What the longest path of a chunk takes. The callers, who take it from the stack, run in threads
// of the program, whose stacks may have 16 KiB: PATH_MAX is a quarter of that.
uint64_t chunk_path_bytes() {
  return strlen(g_paths.folder) + sizeof "/r4294967295-18446744073709551615";
}

void write_chunk_path(char* path, uint64_t room, uint32_t ring, uint64_t file) {
  snprintf(path, room, "%s/r%u-%llu", g_paths.folder, ring, static_cast<unsigned long long>(file));
}

// The recorder is gone, so what is recorded from now on stays until it is recovered: the limit
// drops to the current size plus the room reserved for that. Several processes may notice at once;
// they arrive at about the same limit.
void bound_orphan() {
  auto& control = *g_state.control;
  const uint64_t bound = load(control.allocated_bytes) + load(control.orphan_bytes);
  uint64_t limit = load(control.limit_bytes);
  while (bound < limit && !__atomic_compare_exchange_n(&control.limit_bytes, &limit, bound, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  store(control.orphaned, 1u);
}

// Counts `bytes` against the session's limit; false if that would exceed it.
bool reserve(uint64_t bytes, wire::DropReason* reason) {
  auto& control = *g_state.control;
  if (load(control.orphaned) == 0 && is_orphaned()) bound_orphan();
  const uint64_t before = __atomic_fetch_add(&control.allocated_bytes, bytes, __ATOMIC_RELAXED);
  if (before + bytes <= load(control.limit_bytes)) return true;
  __atomic_fetch_sub(&control.allocated_bytes, bytes, __ATOMIC_RELAXED);
  *reason =
      load(control.orphaned) != 0 ? wire::DropReason::kOrphaned : wire::DropReason::kBufferLimit;
  return false;
}

void unreserve(uint64_t bytes) {
  __atomic_fetch_sub(&g_state.control->allocated_bytes, bytes, __ATOMIC_RELAXED);
}

// Many pages in one call: file systems make large folios for them.
bool write_zeros(int fd, uint64_t from, uint64_t bytes) {
  static char zeros[4096];  // not const, which would be 4 KB in the library's file
  iovec pages[64];
  for (iovec& page : pages) page = {zeros, sizeof zeros};
  const uint64_t end = from + bytes;
  while (from < end) {
    const uint64_t count = (end - from) / sizeof zeros;
    const ssize_t done =
        pwritev(fd, pages, static_cast<int>(count < 64 ? count : 64), static_cast<off_t>(from));
    if (done <= 0) return false;
    from += static_cast<uint64_t>(done);
  }
  return true;
}

// Beyond the limit on file sizes a write would raise SIGXFSZ.
bool may_write(uint64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes) return true;
  errno = EFBIG;
  return false;
}

// Allocates the file's blocks, so that no later store can meet a full disk (a SIGBUS in the
// program).
bool allocate(int fd, uint64_t bytes) {
  if (!may_write(bytes)) return false;
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  return write_zeros(fd, 0, bytes);
}

// A new file with its blocks, or MAP_FAILED and errno. Private whatever the program's umask is, and
// readable by the recorder.
void* make_file(const char* path, uint64_t bytes) {
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return MAP_FAILED;
  void* memory = MAP_FAILED;
  if (fchmod(fd, 0600) == 0 && allocate(fd, bytes)) {
    // Only a thread that fills many pages gains from this.
    if (bytes > wire::kChunkBytes) write_zeros(fd, 0, wire::kChunkBytes);
    memory = kernel::map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (memory == MAP_FAILED) unlink(path);
  errno = error;
  return memory;
}

// A file of this size, allocated and mapped.
wire::ChunkHeader* map_new_file(const char* path, uint64_t bytes, wire::DropReason* reason) {
  if (!reserve(bytes, reason)) return nullptr;
  void* memory = make_file(path, bytes);
  if (memory == MAP_FAILED) {
    *reason = reason_of(errno);
    unreserve(bytes);
    return nullptr;
  }
  kernel::advise(memory, bytes, MADV_DONTFORK);
  auto* chunk = static_cast<wire::ChunkHeader*>(memory);
  chunk->chunk_bytes = static_cast<uint32_t>(bytes);
  return chunk;
}

}  // namespace

bool is_orphaned() {
  const Uncancelled uncancelled;
  const int fd = open(g_paths.control, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock held = {};
  held.l_type = F_WRLCK;
  held.l_whence = SEEK_SET;
  const bool free = fcntl(fd, F_OFD_GETLK, &held) == 0 && held.l_type == F_UNLCK;
  close(fd);
  return free;
}

wire::DropReason reason_of(int error) {
  using wire::DropReason;
  static constexpr struct {
    int error;
    DropReason reason;
  } kReasons[] = {
      {ENOSPC, DropReason::kNoSpace},      {EDQUOT, DropReason::kQuota},
      {EMFILE, DropReason::kProcessFiles}, {ENFILE, DropReason::kSystemFiles},
      {EACCES, DropReason::kDenied},       {EPERM, DropReason::kDenied},
      {EROFS, DropReason::kReadOnly},      {EFBIG, DropReason::kFileSize},
      {ENOMEM, DropReason::kMemory},       {ENOENT, DropReason::kDeleted},
      {ENOTDIR, DropReason::kDeleted},     {EIO, DropReason::kDiskError},
  };
  for (const auto& known : kReasons) {
    if (known.error == error) return known.reason;
  }
  store(g_state.control->system_error, error);
  return DropReason::kSystem;
}

void start_chunk(wire::ChunkHeader* chunk, uint32_t ring, uint64_t file, uint64_t sequence,
                 uint32_t tid) {
  store(chunk->magic, 0u);
  keep_stores_behind();
  chunk->version = wire::kWireVersion;
  chunk->spool = g_state.spool;
  chunk->pid = g_state.pid;
  chunk->ring = ring;
  chunk->sequence = sequence;
  chunk->file = file;
  chunk->tid = tid;
  chunk->clock = g_state.clock;
  chunk->opened = wire::read_clocks(g_state.clock);
  chunk->identity_sum = wire::identity_checksum(*chunk);
  store(chunk->committed, 0u);
  store(chunk->state, wire::ChunkState::kActive);
  store(chunk->open_ranges, 0u);
  store(chunk->open_calls, 0u);
  store_release(chunk->magic, wire::kChunkMagic);
}

wire::ChunkHeader* make_chunk(uint32_t ring, uint64_t file, uint64_t sequence, uint32_t tid,
                              uint64_t bytes, wire::DropReason* reason) {
  const Uncancelled uncancelled;
  const uint64_t room = chunk_path_bytes();
  auto* const path = static_cast<char*>(__builtin_alloca(room));
  *reason = wire::DropReason::kClosed;
  if (load(g_state.control->closed) != 0) return nullptr;
  write_chunk_path(path, room, ring, file);
  wire::ChunkHeader* chunk = map_new_file(path, bytes, reason);
  if (chunk == nullptr && bytes > wire::kChunkBytes) {
    chunk = map_new_file(path, wire::kChunkBytes, reason);
  }
  if (chunk == nullptr) return nullptr;
  // Most processes and threads never fill their first chunk: without this, each page that they
  // touch makes the kernel read ahead, and so clear, a hundred kilobytes around it.
  if (sequence == 0) kernel::advise(chunk, chunk->chunk_bytes, MADV_RANDOM);
  start_chunk(chunk, ring, file, sequence, tid);
  return chunk;
}

void prepare_pages(wire::ChunkHeader* chunk, uint64_t from, uint64_t bytes) {
  const Uncancelled uncancelled;
  const uint64_t room = chunk_path_bytes();
  auto* const path = static_cast<char*>(__builtin_alloca(room));
  if (!may_write(from + bytes)) return;
  write_chunk_path(path, room, chunk->ring, chunk->file);
  // Opened anew: a program may close descriptors that it does not know, and reuse their numbers.
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  write_zeros(fd, from, bytes);
  close(fd);
}

void seal_chunk(wire::ChunkHeader* chunk) {
  chunk->payload_sum = wire::checksum(payload(chunk), load(chunk->committed));
  store_release(chunk->state, wire::ChunkState::kSealed);
}

void drop_chunk(wire::ChunkHeader* chunk) {
  const uint64_t room = chunk_path_bytes();
  auto* const path = static_cast<char*>(__builtin_alloca(room));
  write_chunk_path(path, room, chunk->ring, chunk->file);
  unlink(path);
  const uint64_t bytes = chunk->chunk_bytes;
  kernel::unmap(chunk, bytes);
  unreserve(bytes);
}

}  // namespace sonde::agent
