// What the commands that run a program share: record, profile, debug and roofs.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde::cli {

// The launcher of the software GPU, or for --softgpu the error that this build has none.
Result<std::string> softgpu_launcher();

// Says why a program was not started: the shell's exit status where it cannot be found or run, else
// the error.
Result<int> not_started(const Error& error);

}  // namespace sonde::cli
