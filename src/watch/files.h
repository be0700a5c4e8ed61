// Files that are read at every poll, kept open. Missing files are tried again each time, because a
// card can come back.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "monitor/kept_file.h"

namespace sonde::watch {

class Files {
 public:
  // The text without surrounding spaces; nullopt: see error().
  std::optional<std::string> text(const std::string& path);
  std::optional<std::string> bytes(const std::string& path);
  std::optional<int64_t> number(const std::string& path);
  std::optional<double> scaled(const std::string& path, double scale);
  int error() const { return error_; }  // errno of the last call
  void forget(const std::string& prefix);

 private:
  std::map<std::string, monitor::KeptFile> files_;
  int error_ = 0;
};

}  // namespace sonde::watch
