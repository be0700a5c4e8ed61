// Parses the windows of a Chrome trace on threads of its own and gives the batches out in the order
// of the file. At most a few windows are in memory at a time.
#pragma once

#include <functional>

#include "importers/input/json_windows.h"
#include "importers/kineto/events.h"

namespace sonde::importers {

// All batches, until `take` fails. An error if the file has no array of events.
Status each_batch(const Source& source, JsonWindows& windows, const Wants& wants,
                  const std::function<Status(const EventBatch&)>& take);

}  // namespace sonde::importers
