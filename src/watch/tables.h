// A snapshot as a report: a few tables for people, or everything for programs. The GPUs are always
// the first section.
#pragma once

#include <string>

#include "report/report.h"
#include "watch/snapshot.h"

namespace sonde::watch {

enum class Detail {
  kBrief,  // what fits on a terminal
  kAll,    // also tables of clocks, links, health and partitions
  kData,   // every value, one row per GPU
};

report::Report report_of(const Snapshot& snapshot, Detail detail);
// "2026-11-23T09:30:00.250Z"
std::string time_text(int64_t unix_time_ns);
const char* state_text(GpuState state);
// The temperature of its hottest sensor.
Real hottest_c(const Gpu& gpu);

}  // namespace sonde::watch
