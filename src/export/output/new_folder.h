// NewFolder: the folder an export of several files goes into. It must not exist; unless keep() was
// called it is removed again, so a half export never looks like a whole one.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace sonde::exporting {

class NewFolder {
 public:
  static Result<NewFolder> create(const std::string& path);
  NewFolder(NewFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();
  void keep() { path_.clear(); }

 private:
  explicit NewFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sonde::exporting
