// Watcher: takes snapshots of this machine, or of a copy of its /proc and /sys. Rates refer to the
// time since the previous poll, so the first snapshot has none. Used by the monitoring commands.
//
// It only reads, never opens anything in /dev of an AMD GPU, and wakes none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "monitor/source.h"
#include "watch/amd_gpus.h"
#include "watch/nvidia_gpus.h"
#include "watch/processes.h"
#include "watch/snapshot.h"

namespace sonde::watch {

struct WatchOptions {
  monitor::Roots roots;
  std::string nvml = "libnvidia-ml.so.1";  // "": do not use it
  bool whole_table = false;                // every field of gpu_metrics
};

class Watcher {
 public:
  explicit Watcher(const WatchOptions& options);
  ~Watcher();

  Snapshot look();

 private:
  class Values;
  void look_at_host(Snapshot& snapshot);

  WatchOptions options_;
  AmdGpus amd_;
  Processes processes_;
  std::vector<std::unique_ptr<monitor::Source>> host_;
  std::unique_ptr<NvidiaGpus> nvidia_;  // null: not used
};

}  // namespace sonde::watch
