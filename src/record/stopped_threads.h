// Stacks of running threads of a process: each is stopped (ptrace) while the process itself reads
// its stack, some 0.1 ms, and continues. Threads that a debugger traces, or that the system forbids
// to trace, are not stopped. Used by faults.cpp for reports of hangs.
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
  // While this exists, the process answers at once.
  explicit ThreadStopper(const std::string& board_path);
  ~ThreadStopper();

  // Stops the threads that the board marks as running, for at most this long in total. A thread
  // that was not shown, since it took long to stop or the process to answer, is stopped again.
  void stop_running(int64_t most_ns);
  // Threads that have not stopped yet: call let_go() until it returns true.
  std::vector<pid_t> take_late() { return std::move(late_); }

 private:
  bool stop_each(int64_t until_ns);
  bool seize(pid_t tid);
  void show(pid_t tid, uint32_t place, int64_t until_ns) const;
  void set_stops(uint32_t value) const;

  UniqueFd file_;
  std::vector<pid_t> late_;
};

// True once the thread runs again, or has ended.
bool let_go(pid_t tid);

}  // namespace sonde::record
