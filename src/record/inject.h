// Injects a library into a running process: a thread that waits in a system call, without holding a
// lock of libc, is stopped while it runs dlopen(), and then continues to wait. x86-64 only.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace sonde::record {

// Makes the process load `library` and call its function `name` with `argument`; returns that
// function's result. Waits at most `patience_ns` for a thread that can be stopped.
Result<int> call_in_process(pid_t pid, const std::string& library, const std::string& name,
                            const std::string& argument, int64_t patience_ns);

}  // namespace sonde::record
