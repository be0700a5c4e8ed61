// Analyses in processes of their own: one that takes too much memory or time is ended, and the
// server goes on. A helper process is forked at the start, while there are not threads, and forks a
// worker for each job. Used by api.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::serve {

struct WorkLimits {
  uint64_t memory_bytes = 0;  // 0: half of the machine's
  int64_t time_ns = 300'000'000'000;
};

// Under a sanitizer, whose own memory would count, only time is limited.
bool limits_memory();

// Does a job in the worker.
using Job = Result<std::string> (*)(std::string_view job);

class Workers {
 public:
  // To be called before the process has threads.
  static Result<Workers> start(Job job, const WorkLimits& limits);
  Workers(Workers&&) noexcept = default;

  // What the job gave; for several threads at once. Errors of a worker that was ended say why.
  Result<std::string> run(const std::string& job) const;

 private:
  Workers(UniqueFd helper, const WorkLimits& limits)
      : helper_(std::move(helper)), limits_(limits) {}
  UniqueFd helper_;  // ends when this is closed
  WorkLimits limits_;
};

}  // namespace sonde::serve
