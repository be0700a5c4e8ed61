// softgpu in front of the recorded program: it is the command, and ends as the program ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace sonde::record {

// The launcher of software GPUs that is installed beside this tool; "" if there is none.
std::string softgpu_launcher();

// Whether the file is that launcher.
bool is_softgpu(const std::string& file);

// How the launcher ended is how the process ended that it had started, since `since_ns`. Only a
// parent is told how a process ended, and the recorder is not this one's.
Status share_end(store::Database& database, pid_t launcher, int64_t since_ns, std::string_view how);

}  // namespace sonde::record
