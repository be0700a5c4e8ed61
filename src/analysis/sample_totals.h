// CPU time of samples by function and by the user's own lines of Python. Used by findings and page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

struct SampleTotal {
  std::string name;  // "gemm_kernel", "train.py(12): step"
  int64_t samples = 0, cpu_ns = 0;
};

struct SampleTotals {
  std::vector<SampleTotal> functions;  // the innermost; the largest first, equal ones by name
  std::vector<SampleTotal> lines;      // the innermost of Python that is no library's
  int64_t samples = 0, cpu_ns = 0;     // of all that took CPU time
};

SampleTotals sample_totals(const trace::Trace& trace);

}  // namespace sonde::analysis
