// The kernels of each queue in the order in which they began: what sequences and variability look
// at.
#pragma once

#include <string>
#include <vector>

#include "report/names.h"
#include "trace/trace.h"

namespace sonde::analysis {

// By queue; rows of Trace::ops.
inline std::vector<std::vector<size_t>> kernels_of_queues(const trace::Trace& trace) {
  std::vector<std::vector<size_t>> queues(trace.queues.size());
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.class_of(op) == trace::OpClass::kKernel) queues[trace.ops.queue[op]].push_back(op);
  }
  return queues;
}

// "gemm + relu", for people: shortened, and so not always different where the names are.
inline std::string joined_names(const std::vector<std::string>& names) {
  constexpr size_t kWidth = 32;
  std::string joined;
  for (const std::string& name : report::demangled_names(names)) {
    const std::string plain = report::short_name(name);
    const std::vector<std::string> cut = report::cut_names(std::vector<std::string>{plain}, kWidth);
    joined += (joined.empty() ? "" : " + ") + cut.front();
  }
  return joined;
}

}  // namespace sonde::analysis
