// Reports on the GPUs of a process that we did not start, but that asked for them: the library
// under the name of AMD's debug agent (dropin/lib/rocm_debug_agent.c) starts `sonde debug` this
// way.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

struct Attached {
  pid_t pid = 0;
  int ready_fd = -1;  // receives the session directory, as a line
  int asked_fd = -1;  // a byte per requested state report; closed when the process ends
};

// "PID:READY:ASKED"
std::optional<Attached> parse_attached(const std::string& text);

// Runs until that process has ended. Its command line replaces Options::command.
Status watch_attached(Options options, const Attached& process);

}  // namespace sonde::record
