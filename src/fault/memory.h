// Memory of the process that a report is about: the contents of its kernels' buffers, for a core.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault/live.h"
#include "fault/report.h"

namespace sonde::fault {

struct MemoryPiece {
  uint64_t address = 0;
  std::string bytes;
};
struct KeptMemory {
  std::vector<MemoryPiece> pieces;  // pages that are not all zero
  size_t buffers = 0;               // buffers read
  uint64_t left_out = 0;            // bytes beyond the limit
  std::string trouble;              // why a buffer could not be read; the first such error
};

// The live allocations that arguments of dispatches in flight point to, those of the report's
// kernel first.
KeptMemory memory_of(const FaultReport& report, const LiveProcess& process,
                     uint64_t most_bytes = uint64_t{256} << 20);

// A hex dump, 16 bytes a line, with the characters.
std::string dump_text(uint64_t address, const std::string& bytes);

}  // namespace sonde::fault
