// What a recorder reads from the file that it writes, and corrects in it at the end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "store/database.h"

namespace sonde::store {

struct RowCounts {
  uint64_t apis = 0, ops = 0;
};
Result<RowCounts> count_rows(Database& database);

struct TracedGpus {
  std::map<std::string, int64_t> by_location;  // gpuId by PCI address, in small letters
  std::set<int64_t> taken;                     // all gpuIds
};
Result<TracedGpus> traced_gpus(Database& database);

// Gives metrics of GPUs that were taken since `since_ns` other numbers, all at once.
Status renumber_gpu_metrics(Database& database, const std::map<int64_t, int64_t>& numbers,
                            int64_t since_ns);

// Processes that `parent` has started since, and whose end alone is known, ended as `how` says.
Status set_exit_of_children(Database& database, int64_t parent, int64_t since_ns,
                            std::string_view how);

}  // namespace sonde::store
