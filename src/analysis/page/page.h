// One page about a trace that is read from the top down: what ran, what stands out, where the time
// went, with charts, and the tables below. Used by `sonde report`.
#pragma once

#include "base/result.h"
#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

trace::Request page_needs();
std::string page_definition();
// Tables have `rows` rows at most; findings that could save less than `least_percentage` are left
// out.
Result<report::Report> page_of(trace::Trace trace, size_t rows, double least_percentage);

}  // namespace sonde::analysis
