// How a job used its GPUs: utilisation, memory, power and energy of each, and which were idle, from
// the metrics of its recordings. Used by `sonde job-report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace sonde::watch {

enum class JobFigure { kBusy, kMemory, kPower, kTemperature };

// A value that held from start to end. GPUs are indexes into Job::gpus.
struct JobSample {
  size_t gpu;
  JobFigure figure;
  int64_t start_ns, end_ns;
  double value;  // %, bytes, W, degrees Celsius
};

struct JobGpu {
  std::string node;  // "" if the recording does not say
  int64_t id;        // within its node
};

struct Job {
  std::string id;  // of the job scheduler; may be empty
  std::vector<JobGpu> gpus;
  std::vector<JobSample> samples;  // in any order
};

// If several recordings of a node cover a GPU at the same time, the one that began earlier counts.
report::Report job_report(const Job& job);

}  // namespace sonde::watch
