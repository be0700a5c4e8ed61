// Which kernel belongs to which modelled operator, and what that operator had to do. Used by
// `sonde perf`.
#pragma once

#include <string>
#include <vector>

#include "analysis/perf/models.h"
#include "trace/trace.h"

namespace sonde::analysis {

// A call of an operator whose work is known, with the kernels that belong to it.
struct ModelledCall {
  trace::Row api = trace::kNone;
  const PerfModel* model = nullptr;
  Work work;
  int64_t gpu = 0;
  int64_t kernels = 0, gpu_ns = 0;
};

// Kernels without a model, by the operator that launched them and why.
struct Unmodelled {
  std::string name, why;
  int64_t kernels = 0, gpu_ns = 0;
};

struct ModelledWork {
  std::vector<ModelledCall> calls;     // in the order of their first kernels
  std::vector<Unmodelled> unmodelled;  // largest time first
  int64_t kernels = 0, gpu_ns = 0;     // all of them: those of calls and of unmodelled together
  std::vector<trace::Row> call_of_op;  // of each operation; an index into calls, or kNone
};

// A kernel belongs to the innermost operator around its launch that has a model and sizes. A
// product, convolution, attention or normalisation in which there is another such operator with
// kernels of its own is left out: its work is that one's.
ModelledWork modelled_work(const trace::Trace& trace);
trace::Request modelled_work_needs();

}  // namespace sonde::analysis
