// Whose code a file with code is: the user's, a library's, the Python interpreter's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sonde::trace {

// Code of the system, of installed packages, of vendors' folders and of Sonde is a library's.
bool is_library_path(std::string_view path);
// A source file of the system's, whose functions are compiled into the user's code, as std::sort
// is.
bool is_system_header(std::string_view file);
// python3, libpython3: code that executes frames of Python.
bool is_interpreter_path(std::string_view path);

// The files of a recording by their number.
class Modules {
 public:
  void add(int64_t id, std::string path);
  const std::string& path(int64_t id) { return paths_[id]; }  // "" for an unknown one
  // Also what is installed with a Python of the user's own, as pyenv and conda have it.
  bool is_library(std::string_view path) const;

 private:
  std::unordered_map<int64_t, std::string> paths_;
  std::set<std::string> installations_;
};

}  // namespace sonde::trace
