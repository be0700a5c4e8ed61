// Prints the rows of an SQL statement in the format that the command line asks for. Used by `query`
// and by --rpd.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "store/reader.h"

namespace sonde::cli {

// All rows (limit 0) or the first ones, as they come: a result may be larger than memory.
Status print_rows(const Arguments& arguments, store::Statement& rows, size_t limit);

}  // namespace sonde::cli
