// Samples of the program counters of GPU waves, with their code: for each sampled kernel, all of
// its instructions, the number of samples of each, and its source line if there is debug
// information. Used by record.cpp when a recording ends, while the code objects are still
// available.
#pragma once

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace sonde::record {

// From the waves that the software GPU has written into the session, to table sonde_pc_sample.
Status add_pc_samples(store::Database& database, const std::string& session);

}  // namespace sonde::record
