// Reports of failed GPUs in an .rpd: table sonde_fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

struct FaultRow {
  int64_t pid = 0, time_ns = 0;
  int64_t gpu_id = -1;  // -1: none is known
  std::string kind, title, cause;
  std::string kernel;  // mangled; "" where none is known
  std::string text, json;
};

// In the transaction that is open. The table is made with the first row.
Status add_fault(Database& database, const FaultRow& row);

// Those of a file; none where it has no such table.
Result<std::vector<FaultRow>> faults_of(Database& database);

}  // namespace sonde::store
