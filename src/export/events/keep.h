// --gpu and --rank: which of the loaded events an export is about.
#pragma once

#include "export/events/events.h"

namespace sonde::exporting {

// Takes out the events, processes and devices that options.gpu and options.rank do not want. Names,
// threads and queues stay, so that indices stay valid; writers show only those that have events.
void keep_wanted(Events& events, const Options& options);

}  // namespace sonde::exporting
