// The recorded command as a child process, and the signals between it and the outside.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/group_witness.h"

namespace sonde::record {

// Signals that the recorder handles, through one descriptor. Ctrl-C in the terminal reaches the
// command by itself; a signal sent only to the recorder is forwarded to it. While this exists,
// neither a closed pipe nor a file size limit kills the recorder.
class SignalPipe {
 public:
  SignalPipe() = default;
  static Result<SignalPipe> open();
  SignalPipe(SignalPipe&&) = default;
  SignalPipe& operator=(SignalPipe&&) = default;
  ~SignalPipe();

  int fd() const { return fd_.get(); }
  // Handles what has arrived: forwards to `child` (if > 0) and calls on_child for SIGCHLD. True if
  // there was a Ctrl-C, unless the recorder was started with it ignored.
  bool handle(pid_t child, const std::function<void()>& on_child);
  // From now on SIGQUIT is kept here, and ignored in the command, which Ctrl-\\ also sends it to.
  void keep_quit() { keeps_quit_ = true; }
  bool take_quit() { return std::exchange(has_quit_, false); }
  // From now on this signal is kept here, unless the child handles it itself: then it is forwarded
  // like any other.
  void trigger_by(int number) { trigger_ = number; }
  bool take_trigger() { return std::exchange(has_trigger_, false); }
  // In a child before exec: restores the signal state that the recorder was started with.
  void restore() const;

 private:
  UniqueFd fd_;
  GroupWitness witness_;
  sigset_t mask_{};
  bool interrupt_ignored_ = false;
  bool keeps_quit_ = false, has_quit_ = false;
  int trigger_ = 0;
  bool has_trigger_ = false;
  struct sigaction actions_[3] = {};  // for kTakenOver in child.cpp
};

// The command as a process that waits for permission to run, so that its pid is known beforehand.
// It gets the given environment, the signal state that the recorder was started with, and
// `stderr_fd` as its standard error unless that is negative. If it is never released, it ends with
// this object.
class HeldChild {
 public:
  HeldChild() = default;
  static Result<HeldChild> make(const std::string& file, const std::vector<std::string>& arguments,
                                const std::vector<std::string>& environment,
                                const SignalPipe& signals, int stderr_fd = -1);
  HeldChild(HeldChild&& other) noexcept { *this = std::move(other); }
  HeldChild& operator=(HeldChild&& other) noexcept;
  ~HeldChild();

  pid_t pid() const { return pid_; }
  Result<pid_t> release();

 private:
  pid_t pid_ = -1;
  std::string file_;
  UniqueFd go_, failed_;
};

// Like waitpid(-1, &status, WNOHANG). Where `child` has stopped itself in the foreground of a shell
// with job control, this process stops as well, so that the shell takes the terminal back; it goes
// on with the child.
pid_t take_ended(pid_t child, int& status);

// Opens /dev/null on closed standard descriptors, so that no file of ours gets their numbers and
// receives printed output. They are closed again in the command.
void occupy_standard_descriptors();

// Lets this process have as many files open as it may. Children inherit that.
void raise_file_limit();

// Ends this process the way the command ended, so that a shell sees no difference.
[[noreturn]] void exit_like(int exit_status, int signal);

}  // namespace sonde::record
