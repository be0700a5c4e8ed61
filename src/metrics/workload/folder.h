// Reads the folders that rocprof-compute (Omniperf) writes: sysinfo.csv, pmc_perf.csv in its wide
// form (a column for each counter) or long one (a row for each), the passes beside it,
// roofline.csv. Nothing in the folder is written. Data that is wrong is skipped and reported in
// Workload::warnings.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "metrics/workload/workload.h"

namespace sonde::metrics {

using Names = std::set<std::string, std::less<>>;

// Whether `path` is a folder, which can only be a workload.
bool is_folder(const std::string& path);

// The GPU: what sysinfo.csv says. `path` may be the folder above the only workload; the workload's
// path is that of the folder with the files.
Result<Workload> open_workload_folder(const std::string& path);
// The counters whose names, without "[3]", are in `wanted`; and roofline.csv.
Status read_counters(const Names& wanted, Workload& workload);
// A roofline.csv instead of what the workload has.
Status read_roofs(const std::string& path, Workload& workload);

}  // namespace sonde::metrics
