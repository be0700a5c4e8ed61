// HSA in a process that is attached to: the runtime passes out its tables only when it starts, but
// its exported functions read the tables' addresses.
#pragma once

namespace sonde::late {

// Without `ops`, does only what HIP needs, which reports its calls and ops itself. nullptr:
// recorded now; "": the runtime has not started yet; else the reason why not.
const char* begin_hsa(bool ops);
bool is_hsa_loaded();
bool is_hsa_recorded();  // false once the runtime was shut down
void end_hsa();

}  // namespace sonde::late
