// Memory of the process that a report is about: what the buffers of its kernels hold, for a core.
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
  size_t buffers = 0;               // that were read
  uint64_t left_out = 0;            // bytes beyond the most that is kept
  std::string trouble;              // why a buffer could not be read; the first
};

// The allocations that arguments of dispatches in flight point to, those of the report's kernel
// first, and not those that were freed.
KeptMemory memory_of(const FaultReport& report, const LiveProcess& process,
                     uint64_t most_bytes = uint64_t{256} << 20);

// Bytes as text, 16 a line, with the characters that they are.
std::string dump_text(uint64_t address, const std::string& bytes);

}  // namespace sonde::fault
