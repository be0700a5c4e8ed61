// The recorded command as a child process, and the signals that pass between it and the outside.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::record {

// Signals that the recorder takes note of, through one descriptor. Ctrl-C from the terminal reaches
// the command by itself; a signal sent to the recorder alone is passed on to it.
class SignalPipe {
 public:
  SignalPipe() = default;
  static Result<SignalPipe> open();
  SignalPipe(SignalPipe&&) = default;
  SignalPipe& operator=(SignalPipe&&) = default;
  ~SignalPipe();

  int fd() const { return fd_.get(); }
  const sigset_t& original_mask() const { return original_; }
  // Handles what has arrived: forwards to `child` (if > 0) and calls on_child for SIGCHLD.
  void handle(pid_t child, const std::function<void()>& on_child);

 private:
  UniqueFd fd_;
  sigset_t original_{};  // the mask before, which the command gets
};

// Starts the command with the given environment and signal mask.
Result<pid_t> start_child(const std::string& file, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, const sigset_t& mask);

// Ends this process the way the command ended, so that a shell sees no difference.
[[noreturn]] void exit_like(int exit_status, int signal);

}  // namespace sonde::record
