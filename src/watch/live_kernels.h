// What a process currently runs on GPUs, as the full screen shows it: the operations of the last
// seconds by name. cli/monitor_kernels.h gets them.
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
  std::string source;               // where the data comes from, or why there is none
  double span_s = 0;                // the time that the figures cover
  std::vector<LiveKernel> kernels;  // by time, the longest first
  LiveKernel all;                   // the sum, including those left out
};

}  // namespace sonde::watch
