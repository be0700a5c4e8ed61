// Parts of likely causes, of which find_cause() (compose.h) chooses.
#pragma once

#include <string>

#include "fault/report.h"

namespace sonde::fault {

// "kernel work::fill(float*)", or "a kernel".
std::string kernel_text(const FaultReport& report);

// Of a program that goes on: what its queues, ranks and waves stand at.
void state_cause(FaultReport& report);

// A jump to where no code is, which the wave that stopped was about to make. False: it is none.
bool jump_cause(FaultReport& report);

}  // namespace sonde::fault
