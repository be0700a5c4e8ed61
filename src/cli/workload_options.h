// What the commands on hardware counters share: which dispatches of which workload. Used by
// `sonde sol`, `sonde roofline` and `sonde profile`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "metrics/definitions.h"
#include "metrics/workload/folder.h"
#include "metrics/workload/workload.h"

namespace sonde::cli {

// --kernel, --dispatch, --gpu, --gpu-model; --from, --to and --window count too.
std::vector<Option> workload_options();
// The workload at `path`, a folder or a trace, with its GPU. A folder's counters are not read yet.
Result<metrics::Workload> open_workload(const Arguments& arguments, const std::string& path);
// "0,4:7": numbers and ranges of them, both ends included.
Result<std::vector<std::pair<int64_t, int64_t>>> dispatch_ranges(const std::string& text);
// With its counters, of the dispatches that the options choose.
Status read_chosen(const Arguments& arguments, const metrics::Names& wanted,
                   metrics::Workload& workload);

}  // namespace sonde::cli
