// A program that is linked with HIP 6.2: some calls by name, and one that it found by dlsym().
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

int hipSetDevice(int device);
int hipMalloc(void** ptr, size_t size);
int hipMemcpyAsync(void* dst, const void* src, size_t size, int kind, void* stream);

int main(void) {
  void* memory = NULL;
  hipSetDevice(3);
  hipMalloc(&memory, 4096);
  hipMemcpyAsync(memory, (void*)0x20, 100, 1, NULL);
  void* hip = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);
  int (*found)(void**, size_t) = NULL;
  *(void**)&found = dlsym(hip, "hipMalloc");
  const int failed = found(&memory, (size_t)1 << 40);
  printf("{\"calls\": 4, \"failed\": %d}\n", failed);
  return 0;
}
