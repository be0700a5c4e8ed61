#include "backends/rocm/late/libraries.h"

#include <stdio.h>

namespace sonde::late {

bool place_of(const char* name, char (&path)[PATH_MAX]) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&load_beside), &self) == 0 || self.dli_fname == nullptr) {
    return false;
  }
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - self.dli_fname + 1);
  const int length = snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, name);
  return length > 0 && static_cast<size_t>(length) < sizeof path;
}

void* load_beside(const char* name) {
  char path[PATH_MAX];
  return place_of(name, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

}  // namespace sonde::late
