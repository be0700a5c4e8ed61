// What few analyses need, read from an .rpd beside its operations and calls. Private to trace.
#pragma once

#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "trace/trace.h"

namespace sonde::trace {

// Before the calls are arranged; `api_ids` are theirs in the file.
Status load_streams(store::Database& database, const std::vector<int64_t>& api_ids, Trace& trace);

}  // namespace sonde::trace
