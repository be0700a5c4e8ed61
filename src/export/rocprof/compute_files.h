// What a workload folder of rocprof-compute has beside its tables: how it was made. Used by its
// exporter.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::exporting {

struct CountedPass {
  std::string name;  // of its file: "pmc_perf_0", or the counter that is added up in it
  std::vector<std::string> counters;
};

// In the order of the passes; none where the trace does not tell them apart.
Result<std::vector<CountedPass>> counted_passes(store::Database& database);
// perfmon/NAME.txt for each pass, as rocprof takes them; profiling_config.yaml with the choices
// that were made; log.txt. `path` is the folder.
Status write_compute_files(store::Database& database, const std::vector<CountedPass>& passes,
                           const std::string& trace, const std::string& path);

}  // namespace sonde::exporting
