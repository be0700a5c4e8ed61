// Tables of kernels that need no counters: occupancy from registers, and samples of program
// counters. Used by `sonde occupancy` and `sonde instructions`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"
#include "trace/kernel_facts.h"

namespace sonde::metrics {

report::Section occupancy_section(const trace::KernelFacts& facts);

// A table of the kernels, lines of source where they are known, and the disassembly of so many.
std::vector<report::Section> instruction_sections(const std::vector<trace::CodeLine>& lines,
                                                  size_t disassembled);

}  // namespace sonde::metrics
