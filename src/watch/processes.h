// The processes on GPUs: on which they have memory and queues, which KFD tells of AMD's, and what
// they are. The GPU time of a process is not among it, because KFD does not count it. Used by
// Watcher.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "monitor/source.h"
#include "watch/amd_gpus.h"
#include "watch/belongs.h"
#include "watch/files.h"
#include "watch/snapshot.h"

namespace sonde::watch {

// What another driver than KFD tells.
struct ProcessUse {
  int64_t pid = 0;
  GpuUse use;
};

class Processes {
 public:
  explicit Processes(const monitor::Roots& roots) : roots_(roots) {}

  // `cards` are those that the snapshot's AMD GPUs were read from, `others` who uses the others.
  void look(Snapshot& snapshot, const std::vector<AmdGpu>& cards,
            const std::vector<ProcessUse>& others);
  // Fills in what /proc says of a process; false if there is none.
  bool describe(Process& process, int64_t now_ns);

 private:
  struct Known {
    uint64_t begun = 0;  // of /proc/PID/stat: another process of that number begins later
    Process fixed;
    int64_t time_ns = 0, cpu_ticks = 0;
    std::map<int64_t, int64_t> sdma_us;  // by GPU
    std::map<int64_t, int64_t> sdma_time_ns;
  };
  void read_uses(const std::string& folder, const std::vector<AmdGpu>& cards, int64_t now_ns,
                 Process& process);
  std::string user_name(int64_t uid);

  monitor::Roots roots_;
  std::map<int64_t, Known> known_;
  std::map<int64_t, std::string> users_;
};

}  // namespace sonde::watch
