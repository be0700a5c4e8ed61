// What a GPU does at a trap: the wave continues in the trap handler that the driver has set, with
// its state in the handler's own registers (TTMPs), and either returns from there or stays halted.
// ROCr's handler reports the queue's error and halts the wave.
#pragma once

#include <cstdint>
#include <memory>

#include "isa/program.h"
#include "isa/wave.h"

namespace softgpu::isa {

// All zero: no handler is set, and a trap ends the queue at once.
struct TrapHandler {
  std::shared_ptr<Program> program;
  uint64_t entry = 0;   // the driver's TBA
  uint64_t memory = 0;  // the driver's TMA
};

// The initial TTMPs of a wave.
struct TrapRegisters {
  uint64_t packet = 0;  // its index in the queue's ring
  uint32_t group[3] = {};
  uint32_t wave_in_group = 0;
};
void set_trap_registers(Wave& wave, const TrapRegisters& registers);

enum class AfterTrap {
  kContinues,  // after the trap
  kHalted,     // forever
  kFailed,     // the handler itself failed; the wave has halted, and nothing was reported
};
// After a trap (kTrap, with its number), an illegal instruction or a memory violation.
AfterTrap run_trap_handler(Wave& wave, const TrapHandler& handler);
// For a wave that nothing has stopped (kBudget), when the driver requests it (isa/host_traps.h).
// The handler's instructions do not count as the wave's.
AfterTrap run_host_trap(Wave& wave, const TrapHandler& handler);

}  // namespace softgpu::isa
