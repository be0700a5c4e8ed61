// What `sonde info` prints of a file: facts, processes, devices, counts, diagnostics, metadata.
#pragma once

#include "report/report.h"
#include "trace/file_info.h"

namespace sonde::analysis {
report::Report info_report(const trace::FileInfo& info);
}  // namespace sonde::analysis
