// Parts of the likely cause, from which find_cause() (compose.h) chooses.
#pragma once

#include <string>

#include "fault/report.h"

namespace sonde::fault {

// "kernel work::fill(float*)", or "a kernel".
std::string kernel_text(const FaultReport& report);

// The waves that stopped by themselves, not to tell where they are; nullptr if there are none.
const WaveGroup* stopped_waves(const FaultReport& report);

// For a program that is still running: the state of its queues, ranks and waves.
void state_cause(FaultReport& report);

// A jump outside of any code by the wave that stopped. False: it was not one.
bool jump_cause(FaultReport& report);

}  // namespace sonde::fault
