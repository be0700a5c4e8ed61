// Readable words for the keys of what bounds a program; JSON and CSV keep the keys. Used by reports
// for people.
#pragma once

#include "report/report.h"

namespace sonde::analysis {

// In every table that has them: "GPU kernels" for "gpu_compute".
void put_words_for_keys(report::Report& report);

}  // namespace sonde::analysis
