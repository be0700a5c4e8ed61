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
  std::vector<SampleTotal> lines;      // the innermost of Python that is not a library's
  int64_t samples = 0, cpu_ns = 0;     // of all that took CPU time
  SampleTotal driver;                  // of GPUs' drivers and runtimes
  int64_t import_ns = 0;               // within Python's import system
};

// kOwnWork: imports are left out of all but import_ns, and what ran in a GPU's driver out of
// functions and lines.
enum class Counted { kAll, kOwnWork };
SampleTotals sample_totals(const trace::Trace& trace, Counted counted = Counted::kAll);

// What a stack (a node of Trace::stacks) is counted under.
class StackPlaces {
 public:
  explicit StackPlaces(const trace::Trace& trace);
  // The innermost one; what Python's interpreter does is its caller's.
  const std::string& function(int32_t node) const;
  // "" if no line of the user's own is in the stack.
  std::string line(int32_t node) const;
  // Whether a module was being imported.
  bool is_import(int32_t node) const {
    return node != trace::kNone && is_import_[static_cast<size_t>(node)];
  }
  // Whether the user's code had called a GPU's driver or runtime.
  bool is_driver(int32_t node) const {
    return node != trace::kNone && is_driver_[static_cast<size_t>(node)];
  }
  // The function of it that was called, or if that has no name the library: "cuStreamSynchronize",
  // "libcuda.so.1". Of a stack with is_driver().
  std::string driver(int32_t node) const;
  // The line() that the stack is counted under, or the innermost function that is not a library's.
  std::string own_place(int32_t node) const;

 private:
  const trace::CodeFrame& frame(int32_t node) const;
  bool is_library(int32_t node) const;

  const trace::Trace& trace_;
  std::vector<bool> is_import_, is_driver_;  // by node
};

}  // namespace sonde::analysis
