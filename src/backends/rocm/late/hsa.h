// HSA in a process that is attached to: the runtime hands out its tables when it starts, and never
// again, but each of its exported functions reads the address of one.
#pragma once

namespace sonde::late {

// Of a process that uses HIP, which tells of its calls and ops itself, only what those need is
// done. nullptr: recorded now; "": the runtime has not started yet; else why not.
const char* begin_hsa(bool ops);
bool is_hsa_loaded();
bool is_hsa_recorded();  // false once the runtime was shut down
void end_hsa();

}  // namespace sonde::late
