// Wave: 64 work items that run one instruction stream, as a value. Everything that an instruction
// can change is in here or in memory, so a wave can be stopped between any two instructions and
// shown, and goes on where it was.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/instruction.h"
#include "isa/global_sync.h"

namespace softgpu::isa {

constexpr int kLanes = 64;
// Upper halves of the addresses that lead to LDS and to private memory, as the driver tells ROCr.
constexpr uint32_t kLdsAperture = 0x10000, kPrivateAperture = 0x20000;
// MODE without flushed denormals, rounding to nearest: what the fast path computes.
constexpr uint32_t kUsualFloatMode = 0xf0;
// In Wave::gpr_index: vector instructions are skipped (s_setvskip).
constexpr uint32_t kSkipsVectors = 1U << 17;

// What HW_REG_TRAPSTS says of the wave.
constexpr uint32_t kMemoryViolationCause = 1U << 8, kIllegalInstructionCause = 1U << 11;
// A memory fault has this beside: what was translated, and not retried (XNACK_ERROR).
constexpr uint32_t kMemoryFaultCause = kMemoryViolationCause | 1U << 28;

class GroupWatch;
class Program;

enum class Stop : uint8_t {
  kNone,
  kBudget,
  kBarrier,
  kGlobalWait,  // for waves of other groups
  kEnd,
  kTrap,                // s_trap
  kHalt,                // the wave stays where it is, for ever
  kReturn,              // s_rfe_b64: out of the trap handler
  kUnknownInstruction,  // at pc
  kOutsideCode,         // pc is no place of the code object
  kMemoryViolation,     // of LDS or private memory
  kBadAccess,           // --check found one, which is not done
};

// What the waves of a group share, and what they need of their surroundings.
struct GroupState {
  uint8_t* lds = nullptr;
  uint32_t lds_bytes = 0;
  uint32_t private_bytes = 0;  // of a lane
  uint32_t id[3] = {};
  void (*interrupt)(void* context, uint32_t event) = nullptr;  // s_sendmsg
  uint64_t (*clock)(void* context) = nullptr;                  // s_memrealtime
  // Where the trap handler's interrupts go that are for the driver: its doorbell and the
  // exceptions.
  uint32_t* told_driver = nullptr;
  GlobalSync* sync = nullptr;  // of the device
  uint32_t doorbell = 0;       // number of the queue's
  void* context = nullptr;
  GroupWatch* watch = nullptr;  // usually nobody
};

struct alignas(64) Wave {
  uint32_t v[512][kLanes];  // VGPRs, then accumulators
  // Scalar operands by their number: SGPRs, VCC, M0, EXEC, then the constants, so that an operand
  // is read without asking what it is.
  uint32_t s[256];
  uint64_t pc;
  uint32_t scc;
  uint32_t mode;       // as HW_REG_MODE has it
  uint32_t gpr_index;  // of s_set_gpr_idx_on: M0's value; 0 = off
  uint32_t trap_id;
  uint32_t trap_status;  // as HW_REG_TRAPSTS has it
  Stop stop;
  bool takes_turn;  // s_sleep: others should run
  bool is_in_handler, is_halted;
  GlobalWait wait;
  uint32_t number;          // in its group
  uint8_t* private_memory;  // of this wave: a dword of each lane after the other
  GroupState* group;
  uint64_t executed;  // instructions

  [[gnu::always_inline]] uint64_t s64(unsigned n) const { return s[n] | uint64_t{s[n + 1]} << 32; }
  [[gnu::always_inline]] void set64(unsigned n, uint64_t value) {
    s[n] = static_cast<uint32_t>(value);
    s[n + 1] = static_cast<uint32_t>(value >> 32);
  }
  [[gnu::always_inline]] uint64_t exec() const { return s64(sonde::gpu::kExec); }
  [[gnu::always_inline]] uint64_t vcc() const { return s64(sonde::gpu::kVcc); }
};

// As HW_REG_STATUS has it.
uint32_t status_of(const Wave& wave);

// All of it zero but the constants.
void clear(Wave& wave);

// Runs until something stops the wave, at most `budget` instructions; wave.stop says what. The
// thread's MXCSR is that of the wave's MODE meanwhile.
void run(Wave& wave, Program& program, uint64_t budget);

}  // namespace softgpu::isa
