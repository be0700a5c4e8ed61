// The kernels of each queue in the order in which they began, and what they are called where
// several stand in one cell: what sequences and variability look at.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

// By queue; rows of Trace::ops.
std::vector<std::vector<size_t>> kernels_of_queues(const trace::Trace& trace);

// Names for people, without namespaces and cut to a width; of two kernels of a trace that would
// look alike each keeps the argument that tells it apart, or gets a number.
class KernelNames {
 public:
  explicit KernelNames(const trace::Trace& trace);
  std::string joined(std::span<const trace::NameId> names) const;  // "gemm + relu<Half>"

 private:
  std::unordered_map<trace::NameId, std::string> text_of_;
};

}  // namespace sonde::analysis
