// What a page says about the CPU: functions and lines of samples, ranges that the program marked.
// Private to the page.
#pragma once

#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

// Only those that have rows.
std::vector<report::Section> cpu_sections(const trace::Trace& trace);

}  // namespace sonde::analysis
