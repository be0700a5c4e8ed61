// What sonde start, stop and status share.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "report/report.h"
#include "wire/chunk.h"

namespace sonde::cli {

// Prints a line for each recording.
Result<int> switch_recordings(const Arguments& arguments, wire::Asked asked);

report::Report status_report();

}  // namespace sonde::cli
