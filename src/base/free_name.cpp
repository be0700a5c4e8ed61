#include "base/free_name.h"

#include <sys/stat.h>

namespace sonde {

namespace {

// A dangling link counts, too.
bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string_view last_extension(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string_view() : name.substr(dot);
}

}  // namespace

std::string free_name(const std::string& path, std::string_view extension) {
  if (!exists(path)) return path;
  if (extension.empty()) extension = last_extension(path);
  const std::string stem = path.substr(0, path.size() - extension.size());
  for (int number = 2;; ++number) {
    std::string next = stem + "-" + std::to_string(number) + std::string(extension);
    if (!exists(next)) return next;
  }
}

}  // namespace sonde
