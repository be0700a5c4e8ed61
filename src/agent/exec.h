// Carrying the recording over exec: the variables that the recorder set are put back into an
// environment that a program builds for its child.
#pragma once

namespace sonde::agent {

// Takes note of SONDE_INJECT at start-up, before the program can change its environment.
void remember_environment();

}  // namespace sonde::agent
