// Brings the log that a recorded program wrote into its trace. Used by sonde record.
//
// A log may repeat what the recording has, so nothing is counted twice: its calls are in a domain
// of their own ("hip log"), and its operations are moments, not operations.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "importers/importer.h"

namespace sonde::importers {

struct AppendedLog {
  uint64_t entries = 0;
  Tally tally;
};

// `importer` is the name of one for logs; `rpd` a finished trace of Sonde's. Where the log has no
// times, `line_times_ns` has that of each line (CLOCK_MONOTONIC).
Result<AppendedLog> append_log(const std::string& importer, const std::string& log,
                               const std::string& rpd,
                               const std::vector<int64_t>& line_times_ns = {});

}  // namespace sonde::importers
