// What `sonde info` prints of a file: facts, processes, devices, counts, diagnostics, metadata.
#pragma once

#include "report/report.h"
#include "trace/file_info.h"

namespace sonde::analysis {
struct InfoOptions {
  bool environment = false;   // the variables that the recording ran with, too
  bool long_metadata = true;  // whole; else the length stands for what is long
};
report::Report info_report(const trace::FileInfo& info, const InfoOptions& options);
}  // namespace sonde::analysis
