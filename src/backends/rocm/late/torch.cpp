#include "backends/rocm/late/torch.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "backends/rocm/connection.h"

namespace sonde::late {
namespace {

using Attach = int (*)(const struct sonde_agent*, void (*)());
using Detach = void (*)();

Attach g_attach;
Detach g_detach;

// "FOLDER/NAME", in the folder that this library is in.
bool place_of(const char* name, char (&path)[PATH_MAX]) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&has_torch), &self) == 0 || self.dli_fname == nullptr) {
    return false;
  }
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - self.dli_fname + 1);
  const int length = snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, name);
  return length > 0 && static_cast<size_t>(length) < sizeof path;
}

// A library whose name has a version, and that is loaded already: a second one must not be.
bool is_there(const char* name) {
  const char* version = strstr(name, ".so.");
  if (version == nullptr || !isdigit(static_cast<unsigned char>(version[4]))) return false;
  void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

// Whether the libraries that NEEDED of torch/build.py names, in quotes, are those of the process.
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

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  memcpy(&function, &symbol, sizeof function);
}

bool find_library() {
  if (g_attach != nullptr) return true;
  char path[PATH_MAX];
  if (!is_built_for_this() || !place_of("libsonde-torch.so", path)) return false;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  find(library, "sonde_torch_detach", g_detach);
  if (g_detach != nullptr) find(library, "sonde_torch_attach", g_attach);
  return g_attach != nullptr;
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
  return g_attach(rocm::g_agent, rocm::enter) != 0 ? nullptr : "libtorch does not take a callback";
}

void end_torch() { g_detach(); }

}  // namespace sonde::late
