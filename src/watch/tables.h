// A snapshot as a report: a few tables for people, or everything for programs. The first section is
// always that of the GPUs.
#pragma once

#include <string>

#include "report/report.h"
#include "watch/snapshot.h"

namespace sonde::watch {

enum class Detail {
  kBrief,  // what fits a terminal
  kAll,    // tables of clocks, links, health and partitions too
  kData,   // every value, one row a GPU
};

report::Report report_of(const Snapshot& snapshot, Detail detail);
// "2026-11-23T09:30:00.250Z"
std::string time_text(int64_t unix_time_ns);
const char* state_text(GpuState state);
// The hottest of its sensors.
Real hottest_c(const Gpu& gpu);

}  // namespace sonde::watch
