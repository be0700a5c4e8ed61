// Processes of the program that have recorded nothing yet when a recording ends, such as a daemon
// that is about to begin: what they record later is lost, and nothing else would say so.
#pragma once

#include <string>
#include <vector>

#include "record/drain.h"
#include "store/ingest/ingest.h"

namespace sonde::record {

// How many still run that belong to the session by their environment and are not in `known`; says
// so in the trace. Processes in other pid namespaces are not counted.
int note_unannounced(const std::string& session, const std::vector<Drain::Live>& known,
                     store::Ingest& ingest);

}  // namespace sonde::record
