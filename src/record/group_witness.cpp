#include "record/group_witness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace sonde::record {

namespace {

// Whether the signal is pending for the process, which blocks all signals.
bool is_pending(pid_t pid, int signal) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("ShdPnd:", 0) != 0) continue;
    return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

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
    if (is_pending(pid_, signal)) {
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
