// How a CUDA program switches recording on and off: cudaProfilerStart() and cudaProfilerStop() of
// the runtime, which torch.cuda.profiler calls, and cuProfilerStart() and cuProfilerStop() of the
// driver. They are interposed where they are called by name; a runtime that is linked into the
// program calls the driver in its own way.
#include <string.h>

#include "backends/markers/markers.h"
#include "base/loaded_function.h"

namespace {

using namespace sonde::markers;

constexpr int kNotInitialised = 3;  // cudaErrorInitializationError, CUDA_ERROR_NOT_INITIALIZED

Connection g_connection;
int g_paused;

// Calls CUDA's own function.
int pass_on(const char* function) {
  const sonde::ErrnoKeeper keep;
  void* symbol = sonde::find_loaded_function(function, &g_paused);
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
