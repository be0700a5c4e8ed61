// API calls by domain and name, largest total first. Used by api and stats.
// Needs `nesting`.
#pragma once

#include <vector>

#include "analysis/totals.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct ApiTotal {
  trace::NameId domain = 0, name = 0;
  Total time;
};

std::vector<ApiTotal> api_totals(const trace::Trace& trace);

}  // namespace sonde::analysis
