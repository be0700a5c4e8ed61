// What sonde record and sonde recover print when they are done.
#pragma once

#include "record/options.h"

namespace sonde::cli {

// To stderr: time, GPU busy, the operations that took longest, losses, and what to try next.
void print_record_summary(const record::Outcome& outcome);

}  // namespace sonde::cli
