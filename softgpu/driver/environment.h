// Environment: what the launcher passed to this process, read once: the tree and its configuration.
// Without SOFTGPU_TREE the library does nothing at all.
#pragma once

#include <climits>
#include <optional>
#include <string>

#include "config/config.h"
#include "driver/session.h"

namespace softgpu {

class Environment {
 public:
  // The process' instance. The first call reads files.
  static Environment& get();

  bool active() const { return session_ != nullptr; }
  const Config& config() const { return config_; }
  const std::string& tree() const { return config_.tree; }
  // The other processes that share the tree, as this one sees them. Requires active().
  Session& session() { return *session_; }
  // After fork(): the parent's descriptors and locks do not count for the child.
  void become_child();

 private:
  Environment();

  Config config_;
  Session* session_ = nullptr;
};

// A path of the program, mapped into the tree if it belongs there.
class TreePath {
 public:
  explicit TreePath(const char* path);
  const char* get() const { return path_; }
  bool redirected() const { return path_ == text_; }

 private:
  const char* path_;
  char text_[PATH_MAX];
};

// The content of a file in the tree that changes with the load; nothing if `path` (in the tree) is
// an ordinary file.
std::optional<std::string> live_content(const char* path);
// Removes what ended processes have left in the tree.
void prune_processes();

}  // namespace softgpu
