// libamdhip64.so.6 of ROCm 6.2 as far as Sonde sees it: its functions go through a table, which it
// hands to the library of ROCPROFILER_REGISTER_LIBRARY at its first call.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { kMalloc = 215, kCopyAsync = 268, kSetDevice = 327, kEntries = 452 };

static struct {
  size_t bytes;
  void* functions[kEntries];
} table;

static int set_device(int device) {
  printf("device %d\n", device);
  return 0;
}
static int allocate(void** ptr, size_t size) {
  *ptr = (void*)0x1000;
  printf("malloc %zu\n", size);
  return size > 1000000 ? 2 : 0;
}
static int copy_async(void* dst, const void* src, size_t size, int kind, void* stream) {
  printf("copy %p %p %zu %d %p\n", dst, src, size, kind, stream);
  return 0;
}

static void* entry(int index) {
  if (table.bytes == 0) {
    table.bytes = sizeof table;
    table.functions[kSetDevice] = (void*)set_device;
    table.functions[kMalloc] = (void*)allocate;
    table.functions[kCopyAsync] = (void*)copy_async;
    const char* path = getenv("ROCPROFILER_REGISTER_LIBRARY");
    void* library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*set)(const char*, uint64_t, uint64_t, void**, uint64_t) = NULL;
    if (library != NULL) *(void**)&set = dlsym(library, "rocprofiler_set_api_table");
    void* tables = &table;
    if (set != NULL) set("hip", 60200, 0, &tables, 1);
  }
  return table.functions[index];
}

EXPORT int hipSetDevice(int device) { return ((int (*)(int))entry(kSetDevice))(device); }
EXPORT int hipMalloc(void** ptr, size_t size) {
  return ((int (*)(void**, size_t))entry(kMalloc))(ptr, size);
}
EXPORT int hipMemcpyAsync(void* dst, const void* src, size_t size, int kind, void* stream) {
  return ((int (*)(void*, const void*, size_t, int, void*))entry(kCopyAsync))(dst, src, size, kind,
                                                                              stream);
}
