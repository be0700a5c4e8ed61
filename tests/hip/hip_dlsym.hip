// A program that finds HIP's functions by dlopen() and dlsym() alone, as language bindings do.
#include <dlfcn.h>
#include <stdio.h>

int main() {
  void* hip = nullptr;
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    if (hip == nullptr) hip = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (hip == nullptr) return 1;
  auto malloc_device = (int (*)(void**, size_t))dlsym(hip, "hipMalloc");
  auto copy = (int (*)(void*, const void*, size_t, int))dlsym(hip, "hipMemcpy");
  auto free_device = (int (*)(void*))dlsym(hip, "hipFree");
  char host[4096] = {};
  void* device = nullptr;
  void* too_much = nullptr;
  if (malloc_device(&device, sizeof host) != 0) return 1;
  const int failed = malloc_device(&too_much, size_t{1} << 50);
  if (copy(device, host, sizeof host, 1) != 0 || free_device(device) != 0) return 1;
  printf("{\"device\": \"%p\", \"failed\": %d}\n", device, failed);
}
