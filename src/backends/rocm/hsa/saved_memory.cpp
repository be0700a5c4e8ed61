// The program's allocations, and copies of their contents from before a kernel ran.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "backends/rocm/hsa/replay.h"

namespace sonde::hsa {
namespace {

constexpr uint32_t kPoolGlobalFlags = 1;
constexpr uint32_t kKernargPool = 1, kCoarsePool = 4;  // flags of pools
constexpr const char* kNoRoom = "there is no memory left to save what it may write";

struct Block {
  uint64_t address;
  uint64_t there;  // the device's address for it
  size_t bytes;
  uint64_t executable;   // 0: an allocation
  const Device* gpu;     // nullptr: host memory
  Pool pool;             // where it was allocated from, or where its copy goes
  void *before, *after;  // copies of it
  bool used;             // host memory that this kernel uses
  bool shared = false;   // others may write to it
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Block* g_blocks;
size_t g_count, g_room;
Signal g_copied;
std::atomic<int> g_unsaved[kUnsavedKinds];

class Locked : Pinned {
 public:
  Locked() { pthread_mutex_lock(&g_lock); }
  ~Locked() { pthread_mutex_unlock(&g_lock); }
};

uint32_t flags_of(Pool pool) {
  uint32_t flags = 0;
  next().memory_pool_get_info(pool, kPoolGlobalFlags, &flags);
  return flags;
}

void free_copies(Block* block) {
  if (block->gpu != nullptr) {
    if (block->before != nullptr) next().memory_pool_free(block->before);
    if (block->after != nullptr) next().memory_pool_free(block->after);
  } else {
    free(block->before);
    free(block->after);
  }
  block->before = block->after = nullptr;
}

// The caller holds the lock.
template <typename Which>
void remove_where(Which is_it) {
  for (size_t i = g_count; i-- > 0;) {
    if (!is_it(g_blocks[i])) continue;
    free_copies(&g_blocks[i]);
    if (g_blocks[i].shared) g_unsaved[kShared].fetch_sub(1);
    g_blocks[i] = g_blocks[--g_count];
  }
}

// HIP keeps host memory locked after a copy, even when the program has freed it. If something new
// was allocated there, that memory is gone.
void forget_stale(const Block& allocated) {
  remove_where([&](const Block& old) {
    const bool locked = old.gpu == nullptr && old.pool.handle == 0;
    return locked && old.address < allocated.address + allocated.bytes &&
           allocated.address < old.address + old.bytes;
  });
}

void add(const Block& block) {
  const Locked locked;
  if (block.pool.handle != 0) forget_stale(block);
  if (g_count == g_room) {
    const size_t room = g_room != 0 ? 2 * g_room : 256;
    auto* grown = static_cast<Block*>(realloc(g_blocks, room * sizeof(Block)));
    if (grown == nullptr) {
      agent().dropped("allocations that no replay restores", 1);
      return;
    }
    g_blocks = grown;
    g_room = room;
  }
  g_blocks[g_count++] = block;
}

template <typename Which>
void remove(Which is_it) {
  const Locked locked;
  remove_where(is_it);
}

Status find_coarse_pool(Pool pool, void* data) {
  auto* found = static_cast<Pool*>(data);
  uint32_t segment = 1;
  next().memory_pool_get_info(pool, kPoolSegment, &segment);
  if (segment == 0 && found->handle == 0 && (flags_of(pool) & kCoarsePool) != 0) *found = pool;
  return kSuccess;
}

// Copies within a device's memory.
bool copy(const Device& gpu, void* to, const void* from, size_t bytes) {
  constexpr timespec kPause = {0, 20'000};
  if (g_copied.handle == 0 &&
      next().signal_create(1, 0, nullptr, kSignalGpuOnly, &g_copied) != kSuccess) {
    return false;
  }
  next().signal_store_relaxed(g_copied, 1);
  if (next().memory_async_copy(to, gpu.handle, from, gpu.handle, bytes, 0, nullptr, g_copied) !=
      kSuccess) {
    return false;
  }
  int64_t left = 1;
  while ((left = next().signal_load_relaxed(g_copied)) > 0) nanosleep(&kPause, nullptr);
  return left == 0;
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// Saves device memory.
bool save_to(const Block& block, void** copied) {
  if (*copied == nullptr &&
      next().memory_pool_allocate(block.pool, block.bytes, 0, copied) != kSuccess) {
    *copied = nullptr;
    return false;
  }
  return copy(*block.gpu, *copied, pointer(block.address), block.bytes);
}

// False if it no longer exists, which can happen to a part of memory that stayed locked.
bool read_host(const Block& block, void* to) {
  auto* place = static_cast<char*>(to);
  for (size_t done = 0; done < block.bytes;) {
    const iovec local = {place + done, block.bytes - done};
    const iovec remote = {pointer(block.address + done), block.bytes - done};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got < 0 && errno != EFAULT) {  // a sandbox forbids process_vm_readv
      memcpy(place + done, pointer(block.address + done), block.bytes - done);
      return true;
    } else {
      return false;
    }
  }
  return true;
}

bool save_block(Block* block) {
  if (block->gpu != nullptr) return save_to(*block, &block->before);
  if (block->before == nullptr) block->before = malloc(block->bytes);
  if (block->after == nullptr) block->after = malloc(block->bytes);
  if (block->before == nullptr || block->after == nullptr) return false;
  if (!read_host(*block, block->before)) {
    block->used = false;
    free_copies(block);
  }
  return true;
}

bool is_within(uint64_t address, uint64_t start, size_t bytes) {
  return start <= address && address - start < bytes;
}

bool holds(const Block& block, uint64_t address) {
  return is_within(address, block.address, block.bytes) ||
         is_within(address, block.there, block.bytes);
}

// Marks the host blocks that words of the kernel's arguments point into.
void find_used(const DispatchPacket& packet) {
  const uint32_t bytes = kernel_argument_bytes(packet.kernel_object);
  for (size_t i = 0; i < g_count; ++i) g_blocks[i].used = false;
  if (packet.kernarg == 0) return;
  for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, pointer(packet.kernarg + at), sizeof word);
    for (size_t i = 0; i < g_count; ++i) {
      if (g_blocks[i].gpu == nullptr && holds(g_blocks[i], word)) g_blocks[i].used = true;
    }
  }
}

// Calls visit(place, before the first run, after it) for each word that the run changed. Words have
// four bytes, since the host may own one and the kernel the next.
template <typename Visit>
void each_change(const Block& block, Visit visit) {
  auto* place = static_cast<char*>(pointer(block.address));
  auto* before = static_cast<char*>(block.before);
  auto* after = static_cast<char*>(block.after);
  size_t at = 0;
  for (; at + sizeof(uint32_t) <= block.bytes; at += sizeof(uint32_t)) {
    if (memcmp(before + at, after + at, sizeof(uint32_t)) == 0) continue;
    visit(reinterpret_cast<uint32_t*>(place + at), *reinterpret_cast<uint32_t*>(before + at),
          reinterpret_cast<uint32_t*>(after + at));
  }
  for (; at < block.bytes; ++at) {
    if (before[at] != after[at]) visit(place + at, before[at], after + at);
  }
}

// Restores the saved GPU memory; visits the changes of host memory.
template <typename Visit>
bool restore(void* Block::*saved, Visit visit) {
  const Locked locked;
  bool good = true;
  for (size_t i = 0; i < g_count; ++i) {
    const Block& block = g_blocks[i];
    if (block.gpu != nullptr) {
      good &= copy(*block.gpu, pointer(block.address), block.*saved, block.bytes);
    } else if (block.used) {
      each_change(block, visit);
    }
  }
  return good;
}

}  // namespace

void note_memory(const void* address, size_t bytes, Pool pool) {
  const Device* gpu = device_of_pool(pool);
  if (gpu == nullptr && (flags_of(pool) & kKernargPool) != 0) return;  // kernels only read it
  add({word(address), word(address), bytes, 0, gpu, pool, nullptr, nullptr, false});
}

void note_host_memory(const void* address, const void* there, size_t bytes) {
  add({word(address), word(there), bytes, 0, nullptr, {}, nullptr, nullptr, false});
}

void forget_memory(const void* address) {
  remove(
      [&](const Block& block) { return block.executable == 0 && block.address == word(address); });
}

void note_unsaved(Unsaved kind, int more) { g_unsaved[kind].fetch_add(more); }

void note_shared(const void* address) {
  const Locked locked;
  for (size_t i = 0; i < g_count; ++i) {
    Block& block = g_blocks[i];
    const bool inside = word(address) - block.address < block.bytes;
    if (!inside || block.executable != 0 || block.shared) continue;
    block.shared = true;
    g_unsaved[kShared].fetch_add(1);
  }
}

const char* unsaved_memory() {
  if (g_unsaved[kOfAnotherProcess].load() > 0) return "it may write to memory of another process";
  if (g_unsaved[kVirtual].load() > 0) return "it may write to mapped virtual memory";
  if (g_unsaved[kShared].load() > 0) return "another process may write to its memory";
  return nullptr;
}

void note_variables(Executable executable, AgentHandle gpu, uint64_t address, size_t bytes) {
  const Device* device = device_of(gpu);
  if (device == nullptr || !device->is_gpu || bytes == 0) return;
  Pool pool = {};
  next().agent_iterate_memory_pools(gpu, find_coarse_pool, &pool);
  add({address, address, bytes, executable.handle, device, pool, nullptr, nullptr, false});
}

void forget_variables(Executable executable) {
  remove([&](const Block& block) { return block.executable == executable.handle; });
}

bool free_saved_memory() {
  const Locked locked;
  bool any = false;
  for (size_t i = 0; i < g_count; ++i) {
    any |= g_blocks[i].gpu != nullptr && g_blocks[i].before != nullptr;
    free_copies(&g_blocks[i]);
  }
  return any;
}

void forget_all_memory() {
  free_saved_memory();
  const Locked locked;
  g_count = 0;
  g_unsaved[kShared].store(0);
  if (g_copied.handle != 0) next().signal_destroy(g_copied);
  g_copied = {};
}

const char* save_memory(const DispatchPacket& packet) {
  const Locked locked;
  find_used(packet);
  for (size_t i = 0; i < g_count; ++i) {
    Block& block = g_blocks[i];
    if ((block.gpu != nullptr || block.used) && !save_block(&block)) return kNoRoom;
  }
  return nullptr;
}

const char* after_first_run(bool* may_wait) {
  const Locked locked;
  *may_wait = false;
  for (size_t i = 0; i < g_count; ++i) {
    const Block& block = g_blocks[i];
    if (!block.used) continue;
    memcpy(block.after, pointer(block.address), block.bytes);
    *may_wait |= memcmp(block.before, block.after, block.bytes) != 0;
  }
  for (size_t i = 0; *may_wait && i < g_count; ++i) {
    Block& block = g_blocks[i];
    if (block.gpu != nullptr && !save_to(block, &block.after)) return kNoRoom;
  }
  return nullptr;
}

// A finished run has written all its results: any other change is the host's, which may have
// written since. A run that was cut off may have left anything.
bool restore_first_run(bool has_ended) {
  return restore(&Block::after, [=](auto* place, auto before, auto* after) {
    if (has_ended) {
      __atomic_compare_exchange_n(place, &before, *after, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(place, *after, __ATOMIC_RELEASE);
    }
  });
}

bool restore_memory() {
  // The current value is the last one that the kernel or the host has written.
  return restore(&Block::before, [](auto* place, auto before, auto* after) {
    const auto last = __atomic_exchange_n(place, before, __ATOMIC_ACQ_REL);
    if (last != before) *after = last;
  });
}

void after_last_run() {
  const Locked locked;
  for (size_t i = 0; i < g_count; ++i) {
    if (!g_blocks[i].used) continue;
    // A word that no later run has written again is the host's, which may have written it once more
    // since.
    each_change(g_blocks[i], [](auto* place, auto before, auto* after) {
      __atomic_compare_exchange_n(place, &before, *after, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED);
    });
  }
}

}  // namespace sonde::hsa
