#include "isa/trap.h"

namespace softgpu::isa {
namespace {

using sonde::gpu::kTtmp;

// ROCr's handlers have a few dozen instructions.
constexpr uint64_t kMostInstructions = 1'000'000;
constexpr uint64_t kProgramCounter = (uint64_t{1} << 48) - 1;
// A KFD host trap: the bit above the trap number, and the trap number that KFD uses.
constexpr uint64_t kHostTrap = uint64_t{1} << 8 | 4;

uint32_t cause_of(Stop stop) {
  if (stop == Stop::kUnknownInstruction) return kIllegalInstructionCause;
  return stop == Stop::kMemoryViolation ? kMemoryViolationCause : 0;
}

// Enters from the instruction at `at`; `number` is stored above the program counter.
AfterTrap enter_handler(Wave& wave, const TrapHandler& handler, uint64_t at, uint64_t number) {
  wave.set64(kTtmp, (at & kProgramCounter) | number << 48);
  wave.s[kTtmp + 12] = status_of(wave);
  wave.set64(kTtmp + 14, handler.memory);
  wave.is_in_handler = true;
  wave.is_halted = false;
  wave.pc = handler.entry;
  do {
    run(wave, *handler.program, kMostInstructions);
  } while (wave.stop == Stop::kBudget && wave.yields);
  wave.is_in_handler = false;
  if (wave.stop != Stop::kReturn) {
    wave.pc = at;
    return AfterTrap::kFailed;
  }
  wave.stop = Stop::kBudget;
  return wave.is_halted ? AfterTrap::kHalted : AfterTrap::kContinues;
}

}  // namespace

void set_trap_registers(Wave& wave, const TrapRegisters& registers) {
  wave.set64(kTtmp + 6, registers.packet & kProgramCounter);
  for (unsigned axis = 0; axis < 3; ++axis) wave.s[kTtmp + 8 + axis] = registers.group[axis];
  wave.s[kTtmp + 11] = registers.wave_in_group & 63;
}

AfterTrap run_trap_handler(Wave& wave, const TrapHandler& handler) {
  const bool is_trap = wave.stop == Stop::kTrap;
  const uint64_t number = is_trap ? wave.trap_id : 0;
  const uint64_t at = is_trap ? wave.pc - 4 : wave.pc;  // the address of s_trap itself
  wave.trap_status |= cause_of(wave.stop);
  return enter_handler(wave, handler, at, number);
}

AfterTrap run_host_trap(Wave& wave, const TrapHandler& handler) {
  const uint64_t executed = wave.executed;
  const bool yields = wave.yields;
  const AfterTrap after = enter_handler(wave, handler, wave.pc, kHostTrap);
  wave.executed = executed;
  wave.yields = yields;
  return after;
}

}  // namespace softgpu::isa
