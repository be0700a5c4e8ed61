// The long form of pmc_perf.csv: a row for each counter of each dispatch, all passes one after the
// other. Used by workload/folder.cpp.
#pragma once

#include "base/result.h"
#include "metrics/csv_text.h"
#include "metrics/workload/folder.h"

namespace sonde::metrics {

// Rows of one dispatch become one; of a counter that was read twice the last value is kept, and the
// time of a dispatch is the median of its passes.
Status read_long(CsvText& csv, const Names& wanted, Workload& workload);

}  // namespace sonde::metrics
