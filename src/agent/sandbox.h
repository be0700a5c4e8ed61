// A program that forbids itself what recording needs: a system call that would end it, or reading
// the time. Before it does, recording of this process ends.
#pragma once

#include <linux/filter.h>

namespace sonde::agent {

// Whether a filter of seccomp ends the process, or a thread of it, at a system call that recording
// makes. One that lets such a call fail does no harm.
bool forbids_recording(const sock_fprog& filter);

// Has `prepare` called before, in the thread that enters the sandbox.
void on_silence(void (*prepare)());

}  // namespace sonde::agent
