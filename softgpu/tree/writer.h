// TreeWriter: creates files, links and folders below one root, with their parent folders. The first
// failure is kept and later calls do nothing, so a caller checks once, at the end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace softgpu {

using Property = std::pair<std::string_view, uint64_t>;

class TreeWriter {
 public:
  explicit TreeWriter(std::string root) : root_(std::move(root)) {}

  void file(const std::string& path, std::string_view text);
  void link(const std::string& path, const std::string& target);
  void folder(const std::string& path);
  // Lines of "key value", the kernel's form of a topology entry.
  void properties(const std::string& path, std::initializer_list<Property> values);

  const sonde::Status& status() const { return status_; }

 private:
  bool parent(const std::string& path);
  void fail(std::string what, const std::string& path, int error_number);

  std::string root_;
  std::string last_parent_;  // consecutive files usually share a folder
  sonde::Status status_ = sonde::ok_status();
};

}  // namespace softgpu
