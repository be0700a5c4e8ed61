// A stand-in for AMD's rocprofiler-sdk: takes the tables that it is given and listens to hipMalloc,
// to ncclSend, and to hsa_amd_memory_pool_free.
// Built as sdk/librocprofiler-sdk.so.1.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kMalloc = 215;  // of HipDispatchTable, without its size
int (*next_malloc)(void**, size_t);

int listening_malloc(void** ptr, size_t size) {
  const int result = next_malloc(ptr, size);
  printf("sdk: malloc %zu = %d\n", size, result);
  return result;
}

constexpr int kSend = 9;  // of RCCL's table, without its size
int (*next_send)(const void*, size_t, int, int, void*, void*);

int listening_send(const void* send, size_t count, int type, int peer, void* comm, void* stream) {
  const int result = next_send(send, count, type, peer, comm, stream);
  printf("sdk: send %zu = %d\n", count, result);
  return result;
}

constexpr int kPoolFree = 128 / 8;  // of HSA's AMD table
int (*next_free)(void*);

int listening_free(void* memory) {
  printf("sdk: free %p\n", memory);
  return next_free(memory);
}

template <typename F>
void listen(void** slot, F* listener, F** next) {
  memcpy(next, slot, sizeof *next);
  *slot = reinterpret_cast<void*>(listener);
}

}  // namespace

FAKE int rocprofiler_set_api_table(const char* name, uint64_t version, uint64_t instance,
                                   void** tables, uint64_t count) {
  printf("sdk: %s %lu, instance %lu, %lu tables\n", name, version, instance, count);
  void** functions = static_cast<void**>(tables[0]) + 1;
  if (strcmp(name, "hip") == 0) listen(&functions[kMalloc], listening_malloc, &next_malloc);
  if (strcmp(name, "rccl") == 0) listen(&functions[kSend], listening_send, &next_send);
  if (strcmp(name, "hsa") == 0) {
    void** amd = static_cast<void***>(tables[0])[3];  // behind the version and the core table
    listen(&amd[kPoolFree], listening_free, &next_free);
  }
  return 0;
}
