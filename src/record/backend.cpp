#include "record/backend.h"

#include <dlfcn.h>

#include <filesystem>

namespace sonde::record {

bool find_library(std::span<const char* const> names, std::string* found) {
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      ::dlclose(handle);
      *found = name;
      return true;
    }
  }
  return false;
}

std::string library_folder() {
  std::error_code error;
  const auto tool = std::filesystem::read_symlink("/proc/self/exe", error);
  return (tool.parent_path().parent_path() / "lib" / "sonde").string();
}

}  // namespace sonde::record
