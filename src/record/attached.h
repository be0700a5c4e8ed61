// Reports of the GPUs of a process that was not started by us, but has asked for it: the library
// under the name of AMD's debug agent (dropin/lib/rocm_debug_agent.c) starts `sonde debug` so.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "record/options.h"

namespace sonde::record {

struct Attached {
  pid_t pid = 0;
  int ready_fd = -1;  // gets the session directory, a line
  int asked_fd = -1;  // a byte for each state that is asked for; its end is that of the process
};

// "PID:READY:ASKED"
std::optional<Attached> parse_attached(const std::string& text);

// Until that process has ended. Its command line takes the place of Options::command.
Status watch_attached(Options options, const Attached& process);

}  // namespace sonde::record
