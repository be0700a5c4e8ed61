// Memory allocations, from torch's profiler and from runtime calls. Used by memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

struct Allocation {
  int64_t time_ns = 0;
  int64_t bytes = 0;  // negative: freed
  // "GPU 0", "CPU", "GPU 0 of rank 1" where several processes allocate; "GPU" where the call does
  // not say which.
  std::string device;
  std::optional<int64_t> gpu;  // as in Ops::gpu; none: the CPU's, or the call does not say
  trace::Row api = trace::kNone;
  std::optional<int64_t> in_use_bytes, reserved_bytes;  // afterwards, where the file says
};

// In the order of time. Needs arguments of ApiKind::kMemory. `unpaired` counts frees of memory
// whose allocation is not in the trace.
std::vector<Allocation> allocations_of(const trace::Trace& trace, uint64_t& unpaired);

}  // namespace sonde::analysis
