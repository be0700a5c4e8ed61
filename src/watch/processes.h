// The processes on GPUs: where they have memory and queues, which KFD reports for AMD GPUs, and
// what they are. There is no GPU time per process, because KFD does not count it. Used by Watcher.
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

// A use that another driver than KFD reports.
struct ProcessUse {
  int64_t pid = 0;
  GpuUse use;
};

class Processes {
 public:
  explicit Processes(const monitor::Roots& roots) : roots_(roots) {}

  // `cards` are the cards that the snapshot's AMD GPUs come from, `others` the uses of other GPUs.
  void look(Snapshot& snapshot, const std::vector<AmdGpu>& cards,
            const std::vector<ProcessUse>& others);
  // Fills in what /proc says about a process; false if it does not exist.
  bool describe(Process& process, int64_t now_ns);

 private:
  struct Known {
    uint64_t begun = 0;  // from /proc/PID/stat: tells apart processes that reuse a pid
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
