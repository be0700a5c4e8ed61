// What people read for the keys of what bounds a program, which JSON and CSV keep. Used by who
// prints reports.
#pragma once

#include "report/report.h"

namespace sonde::analysis {

// In every table that has them: "GPU kernels" for "gpu_compute".
void put_words_for_keys(report::Report& report);

}  // namespace sonde::analysis
