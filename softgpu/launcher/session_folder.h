// The folder with the tree of one launch: temporary, kept, or another launch's.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "launcher/options.h"

namespace softgpu {

class SessionFolder {
 public:
  static sonde::Result<SessionFolder> make(const Options& options);
  SessionFolder(SessionFolder&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  SessionFolder& operator=(SessionFolder&&) = delete;
  ~SessionFolder();  // removes a temporary one

  const std::string& path() const { return path_; }

 private:
  SessionFolder(std::string path, bool temporary) : path_(std::move(path)), temporary_(temporary) {}

  std::string path_;
  bool temporary_ = false;
};

}  // namespace softgpu
