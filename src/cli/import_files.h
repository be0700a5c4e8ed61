// What sonde import and sonde merge share: several files become one .rpd.
#pragma once

#include <string>

#include "cli/command.h"

namespace sonde::cli {

// Imports all FILEs into `wanted`, or the next free name, and prints what came of it.
Result<int> import_files(const Arguments& arguments, const std::string& wanted);

}  // namespace sonde::cli
