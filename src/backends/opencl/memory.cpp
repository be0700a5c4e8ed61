#include "backends/opencl/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/handle_map.h"
#include "backends/opencl/hooks.h"

namespace sonde::opencl {
namespace {

struct Allocation {
  uint64_t begin, size;
};

HandleMap<uint64_t> g_mappings;
pthread_mutex_t g_svm_lock = PTHREAD_MUTEX_INITIALIZER;
Allocation* g_svm;  // sorted by address
size_t g_svm_count, g_svm_room;

// Index of the first allocation that begins after `address`. The caller holds the lock.
size_t svm_after(uint64_t address) {
  size_t low = 0, high = g_svm_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (g_svm[middle].begin <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void add_svm(const void* pointer, size_t size) {
  pthread_mutex_lock(&g_svm_lock);
  if (g_svm_count == g_svm_room) {
    const size_t room = g_svm_room == 0 ? 64 : g_svm_room * 2;
    void* grown = realloc(g_svm, room * sizeof(Allocation));
    if (grown != nullptr) {
      g_svm = static_cast<Allocation*>(grown);
      g_svm_room = room;
    }
  }
  if (g_svm_count < g_svm_room) {
    const size_t at = svm_after(word(pointer));
    memmove(g_svm + at + 1, g_svm + at, (g_svm_count - at) * sizeof(Allocation));
    g_svm[at] = {word(pointer), size};
    ++g_svm_count;
  }
  pthread_mutex_unlock(&g_svm_lock);
}

void remove_svm(const void* pointer) {
  pthread_mutex_lock(&g_svm_lock);
  const size_t at = svm_after(word(pointer));
  if (at != 0 && g_svm[at - 1].begin == word(pointer)) {
    memmove(g_svm + at - 1, g_svm + at, (g_svm_count - at) * sizeof(Allocation));
    --g_svm_count;
  }
  pthread_mutex_unlock(&g_svm_lock);
}

}  // namespace

void reset_memory_locks() {
  g_mappings.reset_locks();
  g_svm_lock = PTHREAD_MUTEX_INITIALIZER;
}

uint64_t element_bytes(cl_mem image) {
  size_t bytes = 0;
  next().clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof bytes, &bytes, nullptr);
  return bytes;
}

uint64_t object_bytes(cl_mem object) {
  size_t bytes = 0;
  next().clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  return bytes;
}

void remember_mapping(sonde_op* op, const void* mapped) {
  op->dst = word(mapped);
  g_mappings.put(mapped, op->bytes);
}

uint64_t take_mapping(const void* mapped) {
  uint64_t bytes = 0;
  g_mappings.take(mapped, &bytes);
  return bytes;
}

uint64_t svm_bytes(const void* pointer) {
  uint64_t bytes = 0;
  pthread_mutex_lock(&g_svm_lock);
  const size_t at = svm_after(word(pointer));
  if (at != 0 && word(pointer) - g_svm[at - 1].begin < g_svm[at - 1].size) {
    bytes = g_svm[at - 1].size;
  }
  pthread_mutex_unlock(&g_svm_lock);
  return bytes;
}

void after_clSVMAlloc(void* pointer, cl_context, cl_svm_mem_flags, size_t size, cl_uint) {
  if (pointer != nullptr) add_svm(pointer, size);
}

// Before the call: after it, another thread may get the same address.
void hook_clSVMFree(cl_context context, void* pointer) {
  if (pointer != nullptr) remove_svm(pointer);
  next().clSVMFree(context, pointer);
}

void describe_clEnqueueSVMFree(sonde_op* op, cl_command_queue, cl_uint count, void** pointers,
                               void (*)(cl_command_queue, cl_uint, void**, void*), void*, cl_uint,
                               const cl_event*, cl_event*) {
  op->kind = SONDE_OP_OTHER;
  op->name = agent().intern("SVMFree", 7);
  for (cl_uint i = 0; i < count && pointers != nullptr; ++i) {
    op->bytes += svm_bytes(pointers[i]);
    remove_svm(pointers[i]);
  }
  if (count != 0 && pointers != nullptr) op->dst = word(pointers[0]);
}

}  // namespace sonde::opencl
