// Brings a library into a process that runs: a thread of it that waits in a system call in which it
// holds no lock of libc's is stopped for as long as dlopen() takes, and then goes on waiting. Of
// x86-64 only.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace sonde::record {

// Has the process load `library` and call its function `name` with `argument`; returns what that
// returns. Waits at most `patience_ns` for a moment at which a thread can be stopped.
Result<int> call_in_process(pid_t pid, const std::string& library, const std::string& name,
                            const std::string& argument, int64_t patience_ns);

}  // namespace sonde::record
