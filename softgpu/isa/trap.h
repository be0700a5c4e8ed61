// What a GPU does at a trap: the wave goes on in the trap handler that the driver was given, with
// what it was doing in registers of the handler's own (TTMPs), and comes back from there or stays
// halted. Which is what ROCr's handler is for: it tells the queue's error and halts the wave.
#pragma once

#include <cstdint>
#include <memory>

#include "isa/program.h"
#include "isa/wave.h"

namespace softgpu::isa {

// All null: there is no handler, and a trap ends the queue at once.
struct TrapHandler {
  std::shared_ptr<Program> program;
  uint64_t entry = 0;   // the driver's TBA
  uint64_t memory = 0;  // and TMA
};

// What a wave has in its TTMPs from the start.
struct TrapRegisters {
  uint64_t packet = 0;  // its number in the queue's ring
  uint32_t group[3] = {};
  uint32_t wave_in_group = 0;
};
void set_trap_registers(Wave& wave, const TrapRegisters& registers);

enum class AfterTrap {
  kGoesOn,  // behind the trap
  kHalted,  // for ever
  kFailed,  // the handler itself stopped at something; it has halted, and nobody was told
};
// After a trap (kTrap, with its number), an illegal instruction or a violation of memory.
AfterTrap run_trap_handler(Wave& wave, const TrapHandler& handler);
// While nothing has stopped the wave (kBudget): because the driver wants it (isa/host_traps.h).
// What the handler runs is not counted as the wave's.
AfterTrap run_host_trap(Wave& wave, const TrapHandler& handler);

}  // namespace softgpu::isa
