// Polls NVIDIA GPUs through NVML. Used by Watcher.
#pragma once

#include <string>
#include <vector>

#include "monitor/nvml.h"
#include "watch/processes.h"
#include "watch/snapshot.h"

namespace sonde::watch {

class NvidiaGpus {
 public:
  explicit NvidiaGpus(const std::string& library) : nvml_(library) {}

  // Appends every GPU to the snapshot, and returns which processes use them.
  std::vector<ProcessUse> look(Snapshot& snapshot);

 private:
  Gpu fixed_of(monitor::nvml::Device device);
  void read(monitor::nvml::Device device, Gpu& gpu);
  void read_health(monitor::nvml::Device device, Gpu& gpu);
  void read_link(monitor::nvml::Device device, Gpu& gpu);
  void read_processes(monitor::nvml::Device device, int64_t gpu, std::vector<ProcessUse>& uses);

  monitor::Nvml nvml_;
  std::vector<Gpu> fixed_;  // constant properties
};

}  // namespace sonde::watch
