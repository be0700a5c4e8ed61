// Memory faults that the program's runtime does not report: ROCr 5.2 checks for them only where it
// sleeps, which it never does while a handler waits for a signal without an event. The software
// GPU's waves show them nevertheless.
#pragma once

#include "fault/board.h"
#include "fault/code.h"
#include "fault/live.h"
#include "fault/report.h"

namespace sonde::fault {

// Adds to the copy of the board what the process would have written: the fault of this wave, and
// the arguments of the dispatches in flight.
void add_untold(const Wave& wave, CodeObjects& code, const LiveProcess& process, Board& board);

}  // namespace sonde::fault
