// When recording is on: --delay, --duration, --period.
#pragma once

#include "record/options.h"

namespace sonde::record {

// `since_ns` is the time since the command was started.
bool is_scheduled(const Options& options, int64_t since_ns);

}  // namespace sonde::record
