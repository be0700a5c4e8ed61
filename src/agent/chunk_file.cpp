#include "agent/chunk_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/state.h"

namespace sonde::agent {

namespace {

bool chunk_path(char* path, size_t size, uint32_t ring, uint64_t file) {
  const int length = snprintf(path, size, "%s/r%u-%llu", g_state.folder, ring,
                              static_cast<unsigned long long>(file));
  return length > 0 && static_cast<size_t>(length) < size;
}

// Counts `bytes` against the session's limit; false if that would exceed it.
bool reserve(uint64_t bytes) {
  auto& control = *g_state.control;
  const uint64_t before = __atomic_fetch_add(&control.allocated_bytes, bytes, __ATOMIC_RELAXED);
  if (before + bytes <= load(control.limit_bytes)) return true;
  __atomic_fetch_sub(&control.allocated_bytes, bytes, __ATOMIC_RELAXED);
  return false;
}

// Allocates the file's blocks, so that no later store can meet a full disk (a SIGBUS in the
// program).
bool allocate(int fd) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < wire::kChunkBytes) {
    return false;  // growing the file would raise SIGXFSZ
  }
  if (fallocate(fd, 0, 0, wire::kChunkBytes) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  static const char kZeros[4096] = {};
  for (uint64_t done = 0; done < wire::kChunkBytes; done += sizeof kZeros) {
    if (write(fd, kZeros, sizeof kZeros) != sizeof kZeros) return false;
  }
  return true;
}

void unreserve(uint64_t bytes) {
  __atomic_fetch_sub(&g_state.control->allocated_bytes, bytes, __ATOMIC_RELAXED);
}

}  // namespace

void start_chunk(wire::ChunkHeader* chunk, uint32_t ring, uint64_t file, uint64_t sequence,
                 uint32_t tid) {
  store_release(chunk->magic, 0u);
  chunk->version = wire::kWireVersion;
  chunk->chunk_bytes = wire::kChunkBytes;
  chunk->spool = g_state.spool;
  chunk->pid = static_cast<uint32_t>(getpid());
  chunk->ring = ring;
  chunk->sequence = sequence;
  chunk->file = file;
  chunk->tid = tid;
  chunk->clock = g_state.clock;
  chunk->opened = read_clocks(g_state.clock);
  chunk->identity_sum = wire::identity_checksum(*chunk);
  store(chunk->committed, 0u);
  store(chunk->state, wire::ChunkState::kActive);
  store(chunk->open_count, 0u);
  store_release(chunk->magic, wire::kChunkMagic);
}

wire::ChunkHeader* make_chunk(uint32_t ring, uint64_t file, uint64_t sequence, uint32_t tid,
                              wire::DropReason* reason) {
  char path[PATH_MAX + 64];
  *reason = wire::DropReason::kDiskFull;
  if (load(g_state.control->closed) != 0 || !chunk_path(path, sizeof path, ring, file)) {
    return nullptr;
  }
  if (!reserve(wire::kChunkBytes)) {
    *reason = wire::DropReason::kBufferLimit;
    return nullptr;
  }
  void* memory = MAP_FAILED;
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    if (allocate(fd)) {
      memory = mmap(nullptr, wire::kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (memory == MAP_FAILED) unlink(path);
  }
  if (memory == MAP_FAILED) {
    unreserve(wire::kChunkBytes);
    return nullptr;
  }
  madvise(memory, wire::kChunkBytes, MADV_DONTFORK);
  auto* chunk = static_cast<wire::ChunkHeader*>(memory);
  start_chunk(chunk, ring, file, sequence, tid);
  return chunk;
}

void seal_chunk(wire::ChunkHeader* chunk) {
  chunk->payload_sum = wire::checksum(payload(chunk), load(chunk->committed));
  store_release(chunk->state, wire::ChunkState::kSealed);
}

void drop_chunk(wire::ChunkHeader* chunk) {
  char path[PATH_MAX + 64];
  if (chunk_path(path, sizeof path, chunk->ring, chunk->file)) unlink(path);
  munmap(chunk, wire::kChunkBytes);
  unreserve(wire::kChunkBytes);
}

}  // namespace sonde::agent
