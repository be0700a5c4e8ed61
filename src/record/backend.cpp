#include "record/backend.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "record/options.h"

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

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : all_backends()) {
    if (backend.name == name) return &backend;
  }
  return nullptr;
}

std::string library_folder() {
  std::error_code error;
  const auto tool = std::filesystem::read_symlink("/proc/self/exe", error);
  return (tool.parent_path().parent_path() / "lib" / "sonde").string();
}

Result<std::vector<const Backend*>> chosen_backends(const Options& options) {
  std::vector<const Backend*> chosen;
  for (const auto& backend : all_backends()) {
    if (backend.name == "cpu" && options.sample_hz == 0 && !options.launch_stacks) continue;
    if (options.backends && std::find(options.backends->begin(), options.backends->end(),
                                      backend.name) == options.backends->end()) {
      continue;
    }
    std::error_code error;
    if (std::filesystem::exists(library_folder() + "/" + backend.library, error)) {
      chosen.push_back(&backend);
    }
  }
  if (!options.backends) return chosen;
  for (const auto& name : *options.backends) {
    if (name != "none" && find_backend(name) == nullptr) {
      return make_error(ErrorCode::kInvalidArgument, "no such backend: " + name, "--backends",
                        "sonde doctor lists them");
    }
  }
  return chosen;
}

}  // namespace sonde::record
