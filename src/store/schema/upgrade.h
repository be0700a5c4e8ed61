// upgrade: rewrites an .rpd of any flavour as RPD v3 with Sonde's tables and views, into a new
// file. All ids stay as they are, so that extension tables (ext_*) and notes about a trace still
// fit. Used by `sonde upgrade`.
//
// What v2 and v1 know and v3 has no place for: launch details keyed by op go to sonde_op_detail
// and, for the first kernel and copy of each call, to rocpd_kernelapi and rocpd_copyapi; tables
// that v3 does not have are copied where they hold rows; the rest is counted in the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::store {

struct UpgradedTable {
  std::string name;
  int64_t rows_before = 0, rows_after = 0;
};

struct UpgradeReport {
  Flavour from = Flavour::kV3;
  std::vector<UpgradedTable> tables;
  // What was changed or could not be kept: "1 size of rocpd_copyapi was text and is 0 now".
  std::vector<std::string> notes;
};

// `output` must not exist. After an error there is no output.
Result<UpgradeReport> upgrade(const std::string& input, const std::string& output);

}  // namespace sonde::store
