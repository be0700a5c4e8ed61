// How a process becomes part of a recording: as it starts, or while it already runs
// (backends/cpu/attached.cpp).
#pragma once

struct sonde_agent;
struct sonde_functions;

namespace sonde::agent {

// False: there is no such session, or it is of another version.
bool attach_process(const char* session);
// The same for a process that was part of a recording that has ended. What its threads remember of
// that one is not touched here: each thread forgets it before its next event.
bool attach_process_again(const char* session);
void forget_in_this_thread();
// The process has left the recording: calls from now on record nothing.
void leave_recording();
// The tables for libraries that were brought into a running process: backends, and sonde.h.
const struct sonde_agent* agent_of_attached();
const struct sonde_functions* functions_of_attached();
// Whether this thread has recorded into an earlier recording, and nothing into this one yet.
bool is_of_earlier_recording();
// The recording has ended, or its reader is gone.
bool recording_is_over();

}  // namespace sonde::agent
