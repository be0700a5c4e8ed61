// Programs that enter a sandbox which forbids what recording needs: a system call, or reading the
// time. Recording of the process ends before they do.
#pragma once

#include <linux/filter.h>

namespace sonde::agent {

// Whether a seccomp filter kills the process, or a thread, for a system call that recording makes.
// A filter that only lets the call fail does no harm.
bool forbids_recording(const sock_fprog& filter);

// Registers `prepare`, called in the thread that enters the sandbox, before it does.
void on_silence(void (*prepare)());

// Finds the prctl() that ours stands before (base/next_function.h).
void find_next_prctl();

}  // namespace sonde::agent
