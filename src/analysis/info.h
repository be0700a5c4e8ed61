// What `sonde info` prints of a file: facts, processes, devices, counts, diagnostics, metadata.
#pragma once

#include "report/report.h"
#include "trace/file_info.h"

namespace sonde::analysis {
// `with_environment` adds the variables that the recording ran with.
report::Report info_report(const trace::FileInfo& info, bool with_environment);
}  // namespace sonde::analysis
