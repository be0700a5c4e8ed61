// What a process runs on GPUs now (key s of sonde monitor): read from the recording that it is in
// already, or else from one that is started for it, without stacks and metrics, in a file that is
// deleted when the screen leaves it.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/monitor_child.h"
#include "watch/live_kernels.h"

namespace sonde::cli {

class MonitorKernels {
 public:
  // `mask` is that of the signals before the screen blocked some.
  explicit MonitorKernels(const sigset_t& mask) : child_(mask) {}
  ~MonitorKernels() { stop(); }
  MonitorKernels(const MonitorKernels&) = delete;
  MonitorKernels& operator=(const MonitorKernels&) = delete;

  // Shows this process from now on; 0: none.
  void show(int64_t pid);
  // nullopt: none is shown.
  std::optional<watch::LiveKernels> look();

 private:
  void stop();
  Status begin();

  MonitorChild child_;
  int64_t pid_ = 0, since_ns_ = 0;
  std::string trace_, folder_;  // the folder only of a recording of ours
  std::string problem_;
};

}  // namespace sonde::cli
