// Analyses: pure functions from a Trace to a Report, one file each, with the definition of every
// figure beside the code that computes it. `sonde CMD --explain` prints the definition, and so do
// the command's docs and man pages.
//
// An analysis fills the table completely and in its natural order; sorting by another column and
// cutting it to --limit rows is done by the command for all alike (report/sort.h).
#pragma once

#include <string>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Analysis {
  std::string name;        // "top"
  std::string definition;  // paragraphs; what each column means, exactly
  trace::Request needs;    // which columns; window and filters are the caller's
  report::Report (*run)(const trace::Trace& trace);
};

const Analysis& top_analysis();
const Analysis& ktop_analysis();
const Analysis& busy_analysis();
const Analysis& kernels_analysis();
const Analysis& copies_analysis();
const Analysis& api_analysis();

}  // namespace sonde::analysis
