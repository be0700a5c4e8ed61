// ROCTX in a process that is attached to: its library keeps working and gets each call first; the
// program gets its return values.
#pragma once

#include <stddef.h>

namespace sonde::late {

// nullptr: calls by name are recorded now; "": the program has no ROCTX yet; else the reason why
// not.
const char* begin_roctx();
// Binds objects that were loaded since.
void look_for_roctx();
void end_roctx();

}  // namespace sonde::late
