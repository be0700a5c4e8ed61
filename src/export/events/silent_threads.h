// Threads that made no call: there are sampled stacks of them, and a viewer takes their names from
// descriptions alone. Used by the Chrome JSON and the Perfetto exporter.
#pragma once

#include <vector>

#include "export/events/events.h"

namespace sonde::exporting {

// The silent threads of the processes that are written.
std::vector<Thread> silent_threads(const Events& events);

}  // namespace sonde::exporting
