// TemporaryDirectory: a directory of our own in TMPDIR, /var/tmp or /tmp, removed with the files in
// it. Used where a file must be unpacked or rewritten before it can be read.
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
