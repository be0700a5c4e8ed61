// Environment: what this process was told by the launcher, read once: the tree, and the
// configuration in it. Without SOFTGPU_TREE the library does nothing at all.
#pragma once

#include <climits>
#include <optional>
#include <string>

#include "config/config.h"
#include "driver/session.h"

namespace softgpu {

class Environment {
 public:
  // The process's one. Reading it the first time opens files.
  static Environment& get();

  bool active() const { return session_ != nullptr; }
  const Config& config() const { return config_; }
  const std::string& tree() const { return config_.tree; }
  // The processes that share the tree, as this one sees them; it is not one of them. If active().
  Session& session() { return *session_; }
  // After fork(): what the parent's descriptors and locks stood for is not the child's.
  void become_child();

 private:
  Environment();

  Config config_;
  Session* session_ = nullptr;
};

// A path of the program, or where it is in the tree.
class TreePath {
 public:
  explicit TreePath(const char* path);
  const char* get() const { return path_; }
  bool redirected() const { return path_ == text_; }

 private:
  const char* path_;
  char text_[PATH_MAX];
};

// The content of a file in the tree that follows the load; none if `path` (in the tree) is an
// ordinary file.
std::optional<std::string> live_content(const char* path);
// Takes away what processes that have ended left of themselves in the tree.
void prune_processes();

}  // namespace softgpu
