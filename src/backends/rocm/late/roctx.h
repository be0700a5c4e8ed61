// ROCTX in a process that is attached to: the library that it has stays and does what it did, and
// hears of each call first; what it answers is what the program gets.
#pragma once

#include <stddef.h>

namespace sonde::late {

// nullptr: calls by name are recorded now, else why they are not; "": the program has no ROCTX yet.
const char* begin_roctx();
// Of objects that were loaded since.
void look_for_roctx();
void end_roctx();

}  // namespace sonde::late
