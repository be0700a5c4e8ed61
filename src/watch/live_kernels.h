// What a process runs on GPUs now, as the full screen shows it: the operations of the last seconds
// by name. Where they come from is in cli/monitor_kernels.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::watch {

struct LiveKernel {
  std::string name;
  int64_t calls = 0, total_ns = 0;
};

struct LiveKernels {
  int64_t pid = 0;
  std::string source;               // where it is from, or why there is nothing
  double span_s = 0;                // that the figures are of
  std::vector<LiveKernel> kernels;  // the one with the most time first
  LiveKernel all;                   // of them, and of those that are left out
};

}  // namespace sonde::watch
