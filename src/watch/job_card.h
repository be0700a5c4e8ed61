// What a job had of its GPUs: use, memory, power and energy of each, and which were idle, from the
// metrics of its recordings. Used by `sonde job-report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace sonde::watch {

enum class JobFigure { kBusy, kMemory, kPower, kTemperature };

// A value that held from start to end. GPUs are numbers of Job::gpus.
struct JobSample {
  size_t gpu;
  JobFigure figure;
  int64_t start_ns, end_ns;
  double value;  // %, bytes, W, degrees Celsius
};

struct JobGpu {
  std::string node;  // "" where the recording does not tell
  int64_t id;        // in its node
};

struct Job {
  std::string id;  // of the job scheduler; may be empty
  std::vector<JobGpu> gpus;
  std::vector<JobSample> samples;  // in any order
};

// Where several recordings of one node tell of a GPU at the same time, what began earlier counts.
report::Report job_report(const Job& job);

}  // namespace sonde::watch
