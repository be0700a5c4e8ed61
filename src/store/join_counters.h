// Hardware counters that were read in another run of the same program, joined to the kernels of a
// trace. Used by `sonde profile`, which runs a program once for each pass.
//
// A kernel's partner is that of the same process (by its command line and how many of that came
// before), GPU, name, grid and work group, and the same occurrence among those. What has no partner
// is counted, not guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::store {

struct JoinedCounters {
  int64_t kernels = 0;        // that got the counters
  int64_t only_here = 0;      // of the trace that the other run has not
  int64_t only_there = 0;     // the other way round
  std::string first_missing;  // the name of one of these
};

// What a trace says of its counting.
struct CountedTrace {
  int64_t kernels = 0, counted = 0;
  std::vector<std::string> refused;       // "gfx90a: SQ_WAIT_ANY ..."
  std::vector<std::string> problems;      // why nothing could be counted
  std::vector<std::string> not_replayed;  // "saxpy: why it was not run again"
  int64_t spoilt = 0;                     // kernels that had to run beside others
};
Result<CountedTrace> counted_trace(const std::string& trace);
// Keeps in the trace how its counters were read: rocpd_metadata, tag sonde::profile.
Status note_counting(const std::string& trace, const std::string& text);
// What a GPU can do at most, measured: "HBMBw=1388.9 L2Bw=..." in tag sonde::roofs::GPU.
Status note_roofs(const std::string& trace, int64_t gpu, const std::string& text);

Result<JoinedCounters> join_counters(const std::string& trace, const std::string& other_run);

}  // namespace sonde::store
