// The GPUs of several ranks side by side. Used by `sonde ranks`.
#pragma once

#include <span>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

extern const char* const kRanksDefinition;
trace::Request ranks_needs();
// One trace for each file; ranks of the same file are told by their processes.
report::Report ranks_report(std::span<const trace::Trace> traces);

}  // namespace sonde::analysis
