// Reads the few arguments that need more than to be kept: those of rare events (names of processes,
// counters, Python ids). Private to the kineto importer.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sonde::importers {

// Calls `take(key, value)` for each member of a JSON object; a text comes without its quotes, all
// else as it stands in the file. An object that is not valid JSON ends early.
void each_argument(std::string_view object,
                   const std::function<void(std::string_view key, std::string_view value)>& take);

}  // namespace sonde::importers
