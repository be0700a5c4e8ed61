// The CSV files rocprof writes with --stats, for whatever APIs the trace has: PREFIX.stats.csv
// (kernels), PREFIX.copy_stats.csv, PREFIX.hip_stats.csv, PREFIX.opencl_stats.csv and so on.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace sonde::analysis {

struct StatsFile {
  std::string suffix;    // ".hip_stats.csv"
  std::string contents;  // for people: "hip calls"
  size_t rows = 0;
  std::string text;
};

extern const char* const kStatsDefinition;

// Only files that have rows.
std::vector<StatsFile> stats_files(const trace::Trace& trace);

}  // namespace sonde::analysis
