// libsoftgpu-hsa.so: has the names by which the HSA runtime calls its tools. Not in libsoftgpu.so,
// which is preloaded and would stand before functions of the same names in a program.
#include <cstdint>

extern "C" {

bool softgpu_on_load(void* table);  // driver/hsa_tool.cpp, in libsoftgpu.so

__attribute__((visibility("default"))) bool OnLoad(void* table, uint64_t, uint64_t,
                                                   const char* const*) {
  return softgpu_on_load(table);
}

__attribute__((visibility("default"))) void OnUnload() {}
}
