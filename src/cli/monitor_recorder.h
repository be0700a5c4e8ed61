// A recording that sonde monitor starts of a process on the screen (key r): sonde record --pid, as
// a process of its own.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/pinned.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::cli {

class MonitorRecorder : Pinned {
 public:
  // `mask` is that of the signals before the screen blocked some.
  explicit MonitorRecorder(const sigset_t& mask) : mask_(mask) {}
  // One that is at work ends now, and its trace is whole.
  ~MonitorRecorder();

  // What to tell the user.
  std::string start(int64_t pid);
  // What came of it, once it has ended; nothing before.
  std::optional<std::string> result();

 private:
  Status spawn(int64_t pid);
  std::string last_line();

  sigset_t mask_;
  pid_t child_ = -1;
  std::string trace_;
  UniqueFd output_;  // what it says
};

}  // namespace sonde::cli
