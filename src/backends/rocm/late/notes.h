// Markers of sonde.h in a process that is attached to: each object compiled with that header has a
// note that says where it keeps its pointer to the table of functions, which is set and cleared
// here.
#pragma once

namespace sonde::late {

// Whether any object of the process has such a note. Called repeatedly, as objects are loaded.
bool set_notes();
void clear_notes();

}  // namespace sonde::late
