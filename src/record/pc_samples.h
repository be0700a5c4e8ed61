// Samples of program counters of a GPU's waves, with the code that they are of: for each kernel
// that has any, all of its instructions, how many samples each has, and the line of source that it
// came from where debug information says so. Used by record.cpp when a recording ends, while the
// code objects are still to be had.
#pragma once

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace sonde::record {

// From the waves that the software GPU has written into the session, to the table sonde_pc_sample.
Status add_pc_samples(store::Database& database, const std::string& session);

}  // namespace sonde::record
