// A recording that sonde monitor starts of a process on the screen (key r): sonde record --pid, as
// a process of its own.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/monitor_child.h"

namespace sonde::cli {

class MonitorRecorder {
 public:
  // `mask` is that of the signals before the screen blocked some.
  explicit MonitorRecorder(const sigset_t& mask) : child_(mask) {}

  // What to tell the user.
  std::string start(int64_t pid);
  // What came of it, once it has ended; nothing before.
  std::optional<std::string> result();

 private:
  MonitorChild child_;
  std::string trace_;
};

}  // namespace sonde::cli
