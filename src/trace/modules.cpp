#include "trace/modules.h"

#include <algorithm>

#include "store/python_lines.h"

namespace sonde::trace {
namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool is_library_path(std::string_view path) {
  if (path.empty() || path.front() == '[' || path.starts_with("linux-vdso.")) return true;
  if (path.starts_with("/usr/local/")) {
    return path.find("/lib/") != path.npos || path.find("/lib64/") != path.npos;
  }
  for (const std::string_view folder : {"/usr/", "/lib/", "/lib64/", "/opt/rocm"}) {
    if (path.rfind(folder, 0) == 0) return true;
  }
  return path.find("/site-packages/") != path.npos || path.find("/dist-packages/") != path.npos ||
         store::is_of_sonde(path);
}

bool is_system_header(std::string_view file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/gcc/") ||
         file.find("/include/c++/") != file.npos;
}

bool is_interpreter_path(std::string_view path) {
  const std::string_view name = name_of(path);
  return name.starts_with("python3") || name.starts_with("libpython3");
}

void Modules::add(int64_t id, std::string path) {
  if (is_interpreter_path(path)) {  // PREFIX/bin/python3, PREFIX/lib/libpython3.so
    const std::string folder = path.substr(0, path.size() - name_of(path).size());
    for (const std::string_view of : {"/bin/", "/lib/"}) {
      if (folder.ends_with(of)) installations_.insert(folder.substr(0, folder.size() - of.size()));
    }
  }
  paths_[id] = std::move(path);
}

bool Modules::is_library(std::string_view path) const {
  if (is_library_path(path) || is_interpreter_path(path)) return true;
  return std::any_of(installations_.begin(), installations_.end(), [&](const std::string& of) {
    return path.starts_with(of) && path.substr(of.size()).starts_with("/lib/");
  });
}

}  // namespace sonde::trace
