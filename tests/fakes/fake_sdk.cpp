// A stand-in for AMD's rocprofiler-sdk: takes the tables that it is given and listens to hipMalloc.
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

}  // namespace

FAKE int rocprofiler_set_api_table(const char* name, uint64_t version, uint64_t instance,
                                   void** tables, uint64_t count) {
  printf("sdk: %s %lu, instance %lu, %lu tables\n", name, version, instance, count);
  if (strcmp(name, "hip") != 0) return 0;
  void** functions = static_cast<void**>(tables[0]) + 1;
  memcpy(&next_malloc, &functions[kMalloc], sizeof next_malloc);
  functions[kMalloc] = reinterpret_cast<void*>(listening_malloc);
  return 0;
}
