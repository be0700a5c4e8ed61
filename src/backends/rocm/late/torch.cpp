#include "backends/rocm/late/torch.h"

#include <ctype.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/late/libraries.h"

namespace sonde::late {
namespace {

using Attach = int (*)(const struct sonde_agent*);
using Detach = void (*)();

Attach g_attach;
Detach g_detach;

// A library with a version in its name that must be loaded already, so that there is no second
// copy.
bool is_there(const char* name) {
  const char* version = strstr(name, ".so.");
  if (version == nullptr || !isdigit(static_cast<unsigned char>(version[4]))) return false;
  void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

// Whether the process has the libraries that NEEDED of torch/build.py names, in quotes.
bool is_built_for_this() {
  char path[PATH_MAX], line[512];
  FILE* file = place_of("torch/build.py", path) ? fopen(path, "re") : nullptr;
  if (file == nullptr) return false;
  int found = 0, missing = 0;
  while (fgets(line, sizeof line, file) != nullptr) {
    char* at = strncmp(line, "NEEDED", 6) == 0 ? strchr(line, '"') : nullptr;
    for (char* end = nullptr; at != nullptr; at = strchr(end + 1, '"')) {
      if ((end = strchr(at + 1, '"')) == nullptr) break;
      *end = '\0';
      ++(is_there(at + 1) ? found : missing);
    }
  }
  fclose(file);
  return found > 0 && missing == 0;
}

bool find_library() {
  if (g_attach != nullptr) return true;
  if (!is_built_for_this()) return false;
  void* library = load_beside("libsonde-torch.so");
  return find_function(library, "sonde_torch_detach", g_detach) &&
         find_function(library, "sonde_torch_attach", g_attach);
}

}  // namespace

bool has_torch() {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, size_t, void*) {
               return strstr(info->dlpi_name, "/libtorch_cpu.so") != nullptr ? 1 : 0;
             },
             nullptr) != 0;
}

const char* begin_torch() {
  if (!find_library()) return "Sonde was not built for this libtorch";
  return g_attach(rocm::g_agent) != 0 ? nullptr : "libtorch does not take a callback";
}

void end_torch() { g_detach(); }

}  // namespace sonde::late
