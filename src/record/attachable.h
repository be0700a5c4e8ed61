// Which processes no library can, or should, be injected into: decided from /proc, before anything
// is done to the process. Used by inject.cpp.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::record {

// An error that says why not, if there is a reason. `files` are those that the process has to open.
Status attachable(pid_t pid, const std::vector<std::string>& files);

}  // namespace sonde::record
