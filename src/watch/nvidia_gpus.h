// NVIDIA's GPUs by NVML, look after look. Used by Watcher.
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

  // Adds every GPU to the snapshot, behind those that are there, and tells who uses them.
  std::vector<ProcessUse> look(Snapshot& snapshot);

 private:
  Gpu fixed_of(monitor::nvml::Device device);
  void read(monitor::nvml::Device device, Gpu& gpu);
  void read_health(monitor::nvml::Device device, Gpu& gpu);
  void read_link(monitor::nvml::Device device, Gpu& gpu);
  void read_processes(monitor::nvml::Device device, int64_t gpu, std::vector<ProcessUse>& uses);

  monitor::Nvml nvml_;
  std::vector<Gpu> fixed_;  // what does not change
};

}  // namespace sonde::watch
