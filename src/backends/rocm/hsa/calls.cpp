#include "backends/rocm/hsa/calls.h"

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/replay.h"
#include "base/errno_keeper.h"

namespace sonde::hsa {

uint32_t g_calls[kCallIds];

namespace {

struct Description {
  const char* category;
  const char* name;
  const char* arguments;
};
// In the order of CallId.
constexpr Description kDescriptions[] = {
    {"queue", "hsa_queue_create", "agent:x size:u type:u queue:p"},
    {"queue", "hsa_queue_destroy", "queue:p"},
    {"memory", "hsa_amd_memory_async_copy", "dst:p src:p size:u"},
    {"memory", "hsa_amd_memory_async_copy_on_engine", "dst:p src:p size:u engine:x"},
    {"memory", "hsa_amd_memory_async_copy_rect", "dst:p src:p width:u height:u depth:u"},
    {"memory", "hsa_amd_memory_pool_allocate", "pool:x size:u flags:x ptr:p"},
    {"memory", "hsa_amd_memory_pool_free", "ptr:p"},
    {"code", "hsa_executable_freeze", "executable:x"},
};
static_assert(sizeof kDescriptions / sizeof kDescriptions[0] == kCallIds);

Status pool_allocate(Pool pool, size_t size, uint32_t flags, void** ptr) {
  Call call(kPoolAllocate);
  const MemoryTurn turn;
  Status status = next().memory_pool_allocate(pool, size, flags, ptr);
  // The program's memory takes precedence.
  if (status != kSuccess && replays() && free_saved_memory()) {
    status = next().memory_pool_allocate(pool, size, flags, ptr);
  }
  const uint64_t words[] = {pool.handle, size, flags, status == kSuccess ? word(*ptr) : 0};
  call.end(status, words, 4);
  const ErrnoKeeper keep;
  if (status == kSuccess) note_allocation(*ptr, *ptr, size, gpu_of_pool(pool), wire::kBoardPool);
  if (status == kSuccess && replays()) note_memory(*ptr, size, pool);
  return status;
}

Status pool_free(void* ptr) {
  Call call(kPoolFree);
  const MemoryTurn turn;
  {
    const ErrnoKeeper keep;
    note_free(ptr);  // before it: another thread may get the address then
    if (replays()) forget_memory(ptr);
  }
  const Status status = next().memory_pool_free(ptr);
  const uint64_t words[] = {word(ptr)};
  call.end(status, words, 1);
  return status;
}

// Notes host memory that a device may access, possibly at another address.
Status note_locked(Status status, const void* host, void* const* address, size_t size) {
  const ErrnoKeeper keep;
  if (status == kSuccess && address != nullptr) {
    note_allocation(host, *address, size, -1, wire::kBoardLocked);
    if (replays()) note_host_memory(host, *address, size);
  }
  return status;
}

Status lock(void* host, size_t size, AgentHandle* agents, int count, void** address) {
  return note_locked(next().memory_lock(host, size, agents, count, address), host, address, size);
}

Status lock_to_pool(void* host, size_t size, AgentHandle* agents, int count, Pool pool,
                    uint32_t flags, void** address) {
  return note_locked(next().memory_lock_to_pool(host, size, agents, count, pool, flags, address),
                     host, address, size);
}

Status unlock(void* host) {
  const MemoryTurn turn;
  {
    const ErrnoKeeper keep;
    note_free(host);
    if (replays()) forget_memory(host);
  }
  return next().memory_unlock(host);
}

Status copy(void* dst, const void* src, size_t size) {
  const MemoryTurn turn;
  return next().memory_copy(dst, src, size);
}

Status fill(void* ptr, uint32_t value, size_t count) {
  const MemoryTurn turn;
  return next().memory_fill(ptr, value, count);
}

// Memory that a replay cannot save: another process', or virtual mappings.
Status ipc_attach(const void* handle, size_t bytes, uint32_t count, const AgentHandle* agents,
                  void** address) {
  const Status status = next().ipc_memory_attach(handle, bytes, count, agents, address);
  if (status == kSuccess) note_unsaved(kOfAnotherProcess, 1);
  return status;
}

// Memory of ours that another process, or a network card, may write to from now on.
Status ipc_create(void* address, size_t bytes, void* handle) {
  const MemoryTurn turn;
  const Status status = next().ipc_memory_create(address, bytes, handle);
  if (status == kSuccess) note_shared(address);
  return status;
}

Status export_dmabuf(const void* address, size_t bytes, int* dmabuf, uint64_t* offset) {
  const MemoryTurn turn;
  const Status status = next().portable_export_dmabuf(address, bytes, dmabuf, offset);
  if (status == kSuccess) note_shared(address);
  return status;
}

Status ipc_detach(void* address) {
  const Status status = next().ipc_memory_detach(address);
  if (status == kSuccess) note_unsaved(kOfAnotherProcess, -1);
  return status;
}

Status vmem_map(void* address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  const MemoryTurn turn;
  const Status status = next().vmem_map(address, bytes, offset, handle, flags);
  if (status == kSuccess) note_unsaved(kVirtual, 1);
  return status;
}

Status vmem_unmap(void* address, size_t bytes) {
  const MemoryTurn turn;
  const Status status = next().vmem_unmap(address, bytes);
  if (status == kSuccess) note_unsaved(kVirtual, -1);
  return status;
}

// Ranges of host memory that devices access at the same address; may be set repeatedly.
Status svm_set(void* address, size_t bytes, void* attributes, size_t count) {
  const Status status = next().svm_attributes_set(address, bytes, attributes, count);
  if (status != kSuccess) return status;
  forget_memory(address);
  note_host_memory(address, address, bytes);
  return status;
}

}  // namespace

void define_calls() {
  for (uint32_t i = 0; i < kCallIds; ++i) {
    const Description& call = kDescriptions[i];
    g_calls[i] = agent().define_function("hsa", call.category, call.name, call.arguments);
  }
}

void hook_memory(Functions* hooks) {
  hooks->memory_pool_allocate = pool_allocate;
  hooks->memory_pool_free = pool_free;
  hooks->memory_lock = lock;
  hooks->memory_lock_to_pool = lock_to_pool;
  hooks->memory_unlock = unlock;
  if (!replays()) return;
  hooks->memory_copy = copy;
  hooks->memory_fill = fill;
  hooks->ipc_memory_create = ipc_create;
  hooks->portable_export_dmabuf = export_dmabuf;
  hooks->ipc_memory_attach = ipc_attach;
  hooks->ipc_memory_detach = ipc_detach;
  hooks->vmem_map = vmem_map;
  hooks->vmem_unmap = vmem_unmap;
  hooks->svm_attributes_set = svm_set;
}

}  // namespace sonde::hsa
