// Reports of failed GPUs in an .rpd: table sonde_fault; with memory and code objects of the
// process, where it is a core (sonde debug --core).
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

// What a report is kept with.
struct FaultMemory {
  uint64_t address = 0;
  std::string bytes;
};
struct FaultCode {
  std::string uri, bytes;
};
// Adds to the fault that was added last.
Status add_fault_data(Database& database, const std::vector<FaultMemory>& memory,
                      const std::vector<FaultCode>& code);
// The memory of all reports of a file; empty without such tables. A piece is from the newest report
// that has it.
Result<std::vector<FaultMemory>> memory_of_faults(Database& database);
Result<std::vector<FaultCode>> code_of_faults(Database& database);

// What the newest report of each process knows of calls into RCCL, of all ranks.
struct FaultCall {
  std::string communicator, host, name;
  int64_t ranks = 0, rank = 0, pid = 0, sequence = 0, count = 0, type = -1, root = -1;
  bool process_ended = false, is_open = false;
  struct Frame {
    std::string function, file, module, language;
    int64_t line = 0;
  };
  std::vector<Frame> stack;
};
Result<std::vector<FaultCall>> rank_calls_of_faults(Database& database);

// The faults of a file; empty without such a table.
Result<std::vector<FaultRow>> faults_of(Database& database);

}  // namespace sonde::store
