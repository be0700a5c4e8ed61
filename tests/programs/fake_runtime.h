// What the stand-ins for ROCm's runtimes share: how a runtime hands its tables to the library that
// rocprofiler-register would load, and loads the tools of HSA.
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

template <typename R, typename... A>
R call(void* function, A... values) {
  return reinterpret_cast<R (*)(A...)>(function)(values...);
}

template <typename Function>
void* pointer(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct Version {
  uint32_t major, minor, step, reserved;
};

// 0: the library takes it.
inline int hand_over(const char* name, uint64_t version, void* table) {
  const char* path = getenv("ROCPROFILER_REGISTER_LIBRARY");
  void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* set = library != nullptr ? dlsym(library, "rocprofiler_set_api_table") : nullptr;
  if (set == nullptr) return 1;
  return call<int>(set, name, version, uint64_t{0}, &table, uint64_t{1});
}

// Calls `loaded` with each tool of HSA_TOOLS_LIB that takes the table.
template <typename Loaded>
void load_tools(void* table, uint64_t runtime_version, Loaded loaded) {
  const char* list = getenv("HSA_TOOLS_LIB");
  char* names = strdup(list != nullptr ? list : "");
  for (char* name = strtok(names, " "); name != nullptr; name = strtok(nullptr, " ")) {
    void* library = dlopen(name, RTLD_NOW);
    void* load = library != nullptr ? dlsym(library, "OnLoad") : nullptr;
    const char* const* failures = nullptr;
    if (load != nullptr && call<bool>(load, table, runtime_version, uint64_t{0}, failures)) {
      loaded(library);
    }
  }
  free(names);
}
