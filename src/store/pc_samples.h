// Samples of program counters: a row for each instruction of a kernel that has some, in the table
// sonde_pc_sample. Written by src/record, read into traces by src/trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

struct PcLine {
  int64_t offset = 0;  // from the kernel's first instruction, in bytes
  std::string instruction;
  int64_t samples = 0, lanes = 0;  // lanes: that were on, of all samples
  std::string file;                // "" where it is not known
  int64_t line = 0;
};

Status add_pc_lines(Database& database, int64_t pid, int64_t gpu, const std::string& kernel,
                    const std::vector<PcLine>& lines);

}  // namespace sonde::store
