// API calls by domain and name, largest total first. Used by api and stats.
// Needs `nesting`.
#pragma once

#include <string>
#include <vector>

#include "analysis/totals.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct ApiTotal {
  trace::NameId domain = 0;
  std::string name;  // of a marker what the program called it; steps and layers together
  Total time;
};

std::vector<ApiTotal> api_totals(const trace::Trace& trace);

}  // namespace sonde::analysis
