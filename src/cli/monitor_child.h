// A sonde record --pid that sonde monitor starts beside its screen, as a process of its own.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::cli {

class MonitorChild : Pinned {
 public:
  // `mask` is that of the signals before the screen blocked some.
  explicit MonitorChild(const sigset_t& mask) : mask_(mask) {}
  ~MonitorChild() { stop(); }

  Status start(int64_t pid, const std::vector<std::string>& options);
  bool is_at_work() const { return child_ > 0; }
  // Its wait status, once, when it has ended.
  std::optional<int> ended();
  // Ends one that is at work, so that its trace is whole.
  void stop();
  // The last line that it said, without "sonde: ".
  std::string last_line() const;

 private:
  sigset_t mask_;
  pid_t child_ = -1;
  UniqueFd output_;
};

}  // namespace sonde::cli
