#include "record/group_witness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "record/process_signals.h"

namespace sonde::record {

GroupWitness::GroupWitness(GroupWitness&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
GroupWitness& GroupWitness::operator=(GroupWitness&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}
GroupWitness::~GroupWitness() { end(); }

void GroupWitness::start() {
  const pid_t recorder = ::getpid();
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  // A fork whose end sends no signal, and which waitpid(-1) ignores.
  pid_ = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != recorder) ::_exit(0);
#ifdef SYS_close_range
    ::syscall(SYS_close_range, 0u, ~0u, 0u);
#endif
    for (;;) ::pause();
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

void GroupWitness::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, __WALL);
  pid_ = -1;
}

bool GroupWitness::shared_with(pid_t child, int signal) {
  if (pid_ <= 0 || ::getpgid(child) != ::getpgrp()) return false;
  // The whole group is signalled at once, but we may look too early.
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (has_signal(pid_, "ShdPnd", signal)) {
      end();
      start();
      return true;
    }
    const timespec moment = {0, 1000000};
    ::nanosleep(&moment, nullptr);
  }
  return false;
}

}  // namespace sonde::record
