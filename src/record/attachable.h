// What a process is that no library can be brought into, or must not be: from what /proc tells of
// it, before anything is done to it. Used by inject.cpp.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::record {

// An error, which says what it is, unless nothing speaks against it. `files` are those that the
// process has to open.
Status attachable(pid_t pid, const std::vector<std::string>& files);

}  // namespace sonde::record
