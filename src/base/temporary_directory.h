// TemporaryDirectory: a directory in TMPDIR, /var/tmp or /tmp, removed with its files at the end.
// For files that must be unpacked or rewritten before they can be read.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace sonde {

class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::exchange(other.path_, std::string())) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace sonde
