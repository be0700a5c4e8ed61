// How a CUDA program switches recording on and off: cudaProfilerStart() and cudaProfilerStop() of
// the runtime, which torch.cuda.profiler calls, and cuProfilerStart() and cuProfilerStop() of the
// driver. They are interposed where they are called by name; a runtime that is linked into the
// program calls the driver in its own way.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "backends/markers/markers.h"

namespace {

using namespace sonde::markers;

constexpr int kNotInitialised = 3;  // cudaErrorInitializationError, CUDA_ERROR_NOT_INITIALIZED

Connection g_connection;
int g_paused;

struct Library {
  const char* begins;  // part of its path: "/libcudart"
  char path[PATH_MAX];
};

int look_at(dl_phdr_info* info, size_t, void* data) {
  auto& library = *static_cast<Library*>(data);
  if (strstr(info->dlpi_name, library.begins) == nullptr) return 0;
  strncpy(library.path, info->dlpi_name, sizeof library.path - 1);
  return 1;
}

// Looks in a library that was loaded with local scope, as Python loads PyTorch and its
// dependencies.
void* find_in(const char* begins, const char* function) {
  Library library = {begins, {}};
  if (dl_iterate_phdr(look_at, &library) == 0) return nullptr;
  void* handle = dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* symbol = dlsym(handle, function);
  dlclose(handle);
  return symbol;
}

// Calls CUDA's own function.
int pass_on(const char* function) {
  const sonde::ErrnoKeeper keep;
  void* symbol = dlsym(RTLD_NEXT, function);
  if (symbol == nullptr) {
    symbol = find_in(strncmp(function, "cuda", 4) == 0 ? "/libcudart" : "/libcuda.so", function);
  }
  if (symbol == nullptr) return kNotInitialised;  // no CUDA in this process
  int (*next)();
  memcpy(&next, &symbol, sizeof next);
  return next();
}

// A runtime call also reaches the driver's function; the second switch has no effect.
int start(const char* function) {
  resume_recording(connect(g_connection, "cuda"), g_paused);
  return pass_on(function);
}

int stop(const char* function) {
  const int result = pass_on(function);
  pause_recording(connect(g_connection, "cuda"), g_paused);
  return result;
}

}  // namespace

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

SONDE_EXPORT int cudaProfilerStart() { return start("cudaProfilerStart"); }
SONDE_EXPORT int cudaProfilerStop() { return stop("cudaProfilerStop"); }
SONDE_EXPORT int cuProfilerStart() { return start("cuProfilerStart"); }
SONDE_EXPORT int cuProfilerStop() { return stop("cuProfilerStop"); }
