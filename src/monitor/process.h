// What one process uses: /proc/PID.
//
// Context switches and waits for a CPU are kept by the kernel for each thread. At most
// kThreadsATick threads are looked at in a tick, in turn, so that a program of thousands of threads
// costs no more than one of a few; a thread that has ended counts with what was seen last.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monitor/source.h"

namespace sonde::monitor {

class ProcessReader {
 public:
  static constexpr size_t kThreadsATick = 32;

  ProcessReader(const Roots& roots, int64_t pid)
      : proc_(roots.proc), folder_(proc_ + "/" + std::to_string(pid)), pid_(pid) {}

  // False if there is no such process any more.
  bool read(Round& round);

 private:
  bool read_stat(Round& round);
  void read_io(Round& round);
  void read_pss(Round& round);
  void read_threads(Round& round);
  void read_thread(int64_t tid);
  void list_threads();
  void complain(Round& round, const std::string& file, int error);

  struct Counts {
    int64_t voluntary = 0, involuntary = 0, wait_ns = 0;
  };
  std::string proc_, folder_;
  int64_t pid_;
  bool zombie_ = false;
  int64_t thread_count_ = 0;
  std::vector<int64_t> waiting_;  // threads of this turn that are still to be looked at
  std::map<int64_t, Counts> threads_;
  bool has_waits_ = false;  // this kernel counts them (CONFIG_SCHED_INFO)
};

}  // namespace sonde::monitor
