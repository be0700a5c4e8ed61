// Sections of the page for a trace that has hardware counters of kernels: Speed-of-Light, the
// memory chart, what bounds the hot kernels, and the roofline. Used by page.h.
#pragma once

#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

// Nothing where the trace has no counters, or where nothing is known of its GPU.
std::vector<report::Section> counter_sections(const trace::Trace& trace);

}  // namespace sonde::analysis
