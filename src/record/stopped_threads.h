// Stacks of a process's threads that run: each is stopped (ptrace) for as long as its process reads
// its stack itself, some 0.1 ms, and goes on. Nothing is stopped where a debugger has the thread,
// or the system does not allow it. Used by faults.cpp for reports of programs that stand still.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "base/unique_fd.h"

namespace sonde::record {

class ThreadStopper : Pinned {
 public:
  // From now until the end of this the process answers at once.
  explicit ThreadStopper(const std::string& board_path);
  ~ThreadStopper();

  // Those that the board says run. Not for longer than this, in all.
  void stop_running(int64_t most_ns);
  // Threads that have not come to a stop yet: let_go() has to be tried until it is true.
  std::vector<pid_t> take_late() { return std::move(late_); }

 private:
  bool show(pid_t tid, uint32_t place, int64_t until_ns) const;
  void set_stops(uint32_t value) const;

  UniqueFd file_;
  std::vector<pid_t> late_;
};

// True when the thread runs again, or is no more.
bool let_go(pid_t tid);

}  // namespace sonde::record
