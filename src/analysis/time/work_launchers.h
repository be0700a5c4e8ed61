// WorkLaunchers: which thread launched the work that a GPU waits for. A copy of a thread that
// launches nothing but copies is made ahead, and keeps nobody waiting: what counts is the next
// kernel of its GPU.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

class WorkLaunchers {
 public:
  explicit WorkLaunchers(const trace::Trace& trace);  // needs `links`; linear

  // The operation itself, or the kernel that counts in its place, if a thread of the same process is
  // known to have launched that. kNone for kNone.
  trace::Row awaited(trace::Row op) const;
  // The thread that launched an operation; kNone if it is not known.
  trace::Row thread_of(trace::Row op) const;

 private:
  bool is_work(size_t op) const;

  const trace::Trace& trace_;
  std::vector<bool> launches_work_;  // by thread
  std::vector<trace::Row> next_;     // by operation: the GPU's next that is work
};

}  // namespace sonde::analysis
