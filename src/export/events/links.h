// How calls and the operations they launched find each other in Events.
#pragma once

#include "export/events/events.h"

namespace sonde::exporting {

// Makes events.links sorted and unique, and sets first_link of every api and op, next_of_op of
// every link, and the sentinel at the end of the apis. Call it when the three are complete.
void index_links(Events& events);

}  // namespace sonde::exporting
