// Markers of sonde.h in a process that is attached to: each object that was compiled with that
// header has a note that says where it keeps the table of functions, which is set and taken away
// there.
#pragma once

namespace sonde::late {

// Whether something in the process has such a note. Again and again: objects are loaded meanwhile.
bool set_notes();
void clear_notes();

}  // namespace sonde::late
