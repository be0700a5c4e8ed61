// Memory faults that the program's runtime does not tell of: ROCr 5.2 looks for them only where it
// sleeps, and it never does while a handler waits for a signal without an event. The waves of the
// software GPU show them all the same.
#pragma once

#include "fault/board.h"
#include "fault/code.h"
#include "fault/live.h"
#include "fault/report.h"

namespace sonde::fault {

// Writes into the copy of the board what the process would have: the fault of this wave, and the
// arguments of what is in flight.
void add_untold(const Wave& wave, CodeObjects& code, const LiveProcess& process, Board& board);

}  // namespace sonde::fault
