// Carries the recording over exec: puts the variables that the recorder set back into an
// environment that a program builds for its child.
#pragma once

namespace sonde::agent {

// Remembers SONDE_INJECT at start-up, before the program can change its environment.
void remember_environment();

// Finds the functions that ours stand before (base/next_function.h).
void find_next_exec();

}  // namespace sonde::agent
