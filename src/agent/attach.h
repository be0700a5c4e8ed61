// How a process becomes part of a recording: as it starts, or when it runs already
// (backends/cpu/attached.cpp).
#pragma once

struct sonde_agent;
struct sonde_functions;

namespace sonde::agent {

// False: there is no such session, or it is of another version.
bool attach_process(const char* session);
// The same for a process that was part of a recording that has ended. What its threads know of that
// is not touched here: each forgets it before its next event.
bool attach_process_again(const char* session);
void forget_in_this_thread();
// The process has left the recording: nothing that is called from now on is recorded.
void leave_recording();
// What those get that were brought into a process that runs: of backends, and of sonde.h.
const struct sonde_agent* agent_of_attached();
const struct sonde_functions* functions_of_attached();
// Whether this thread has recorded into an earlier recording, and nothing into this one yet.
bool is_of_earlier_recording();
// The recording has ended, or whoever read it is gone.
bool recording_is_over();

}  // namespace sonde::agent
