// What a recorder reads from the file that it writes, and corrects in it at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "store/database.h"

namespace sonde::store {

struct RowCounts {
  uint64_t apis = 0, ops = 0;
};
Result<RowCounts> count_rows(Database& database);

// The GPUs of a recording's metrics, which have numbers of their own while it runs: ops and metrics
// of a GPU get the same number, that given by the traced programs, when all is in the file.
struct MetricGpus {
  int64_t since_ns = 0;                   // the metrics of earlier recordings have their numbers
  std::map<int64_t, std::string> places;  // PCI addresses, in small letters
};
// Keeps them with the state of the unfinished recording.
Status keep_metric_gpus(Database& database, const MetricGpus& gpus);
// Renumbers the metrics of those that are kept, all at once, and keeps them no longer. A GPU that
// no program used gets a free number.
Status renumber_gpu_metrics(Database& database);

// Processes that `parent` has started since, and whose end alone is known, ended as `how` says.
Status set_exit_of_children(Database& database, int64_t parent, int64_t since_ns,
                            std::string_view how);

}  // namespace sonde::store
