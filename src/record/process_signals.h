// Signals of another process, as /proc/PID/status has them.
#pragma once

#include <sys/types.h>

namespace sonde::record {

// Whether the signal is in a set: "SigCgt" (has a handler), "SigIgn" (is ignored), "ShdPnd" (is
// pending for the process). False if the process has ended.
bool has_signal(pid_t pid, const char* set, int number);

}  // namespace sonde::record
