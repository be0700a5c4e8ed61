// How start/sitecustomize.py calls us from a Python function without loading a library: through
// unsetenv() with a special variable name.
#include <string.h>

#include "backends/cpu/sampler.h"
#include "base/next_function.h"

static constinit sonde::NextFunction<int (*)(const char*)> g_next_unsetenv{"unsetenv"};

void sonde::cpu::find_unsetenv() { g_next_unsetenv.find(); }

extern "C" __attribute__((visibility("default"))) int unsetenv(const char* name) {
  constexpr char kQuestion[] = "SONDE_PYTHON_PROBE:";
  constexpr size_t kBytes = sizeof kQuestion - 1;
  if (name != nullptr && strncmp(name, kQuestion, kBytes) == 0) {
    sonde::cpu::look_for_python_frame(name + kBytes);
    return 0;
  }
  return g_next_unsetenv.get()(name);
}
