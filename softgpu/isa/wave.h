// Wave: 64 work items that run one instruction stream, as a value. All state that an instruction
// can change is in here or in memory, so a wave can be stopped between any two instructions,
// inspected, and resumed.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/instruction.h"
#include "isa/global_sync.h"

namespace softgpu::isa {

constexpr int kLanes = 64;
// The upper halves of LDS and private-memory addresses, as the driver reports them to ROCr.
constexpr uint32_t kLdsAperture = 0x10000, kPrivateAperture = 0x20000;
// MODE with denormals kept and rounding to nearest: what the fast path computes.
constexpr uint32_t kUsualFloatMode = 0xf0;
// In Wave::gpr_index: vector instructions are skipped (s_setvskip).
constexpr uint32_t kSkipsVectors = 1U << 17;

// Causes in HW_REG_TRAPSTS.
constexpr uint32_t kMemoryViolationCause = 1U << 8, kIllegalInstructionCause = 1U << 11;
// A memory fault also sets XNACK_ERROR: the access was translated and not retried.
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
  kHalt,                // the wave stays here forever
  kReturn,              // s_rfe_b64: returns from the trap handler
  kUnknownInstruction,  // at pc
  kOutsideCode,         // pc is outside the code object
  kMemoryViolation,     // in LDS or private memory
  kBadAccess,           // --check found one; the access is not performed
};

// What the waves of a group share, and what they need from outside.
struct GroupState {
  uint8_t* lds = nullptr;
  uint32_t lds_bytes = 0;
  uint32_t private_bytes = 0;  // per lane
  uint32_t id[3] = {};
  void (*interrupt)(void* context, uint32_t event) = nullptr;  // s_sendmsg
  uint64_t (*clock)(void* context) = nullptr;                  // s_memrealtime
  // Receives the trap handler's interrupts for the driver: its doorbell and the exceptions.
  uint32_t* driver_interrupt = nullptr;
  GlobalSync* sync = nullptr;  // one for the device
  uint32_t doorbell = 0;       // the queue's doorbell number
  void* context = nullptr;
  GroupWatch* watch = nullptr;  // usually nullptr
};

struct alignas(64) Wave {
  uint32_t v[512][kLanes];  // VGPRs, then accumulators
  // Scalar operands by number: SGPRs, VCC, M0, EXEC, then the constants, so that reading an operand
  // needs no case distinction.
  uint32_t s[256];
  uint64_t pc;
  uint32_t scc;
  uint32_t mode;       // in the layout of HW_REG_MODE
  uint32_t gpr_index;  // from s_set_gpr_idx_on: the value of M0; 0 = off
  uint32_t trap_id;
  uint32_t trap_status;  // in the layout of HW_REG_TRAPSTS
  Stop stop;
  bool yields;  // s_sleep: other waves should run
  bool is_in_handler, is_halted;
  GlobalWait wait;
  uint32_t number;          // in its group
  uint8_t* private_memory;  // this wave's: one dword of every lane after another
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

// In the layout of HW_REG_STATUS.
uint32_t status_of(const Wave& wave);

// Everything zero except the constants.
void clear(Wave& wave);

// Runs until something stops the wave, at most `budget` instructions; wave.stop says what.
// Meanwhile the thread's MXCSR follows the wave's MODE.
void run(Wave& wave, Program& program, uint64_t budget);

}  // namespace softgpu::isa
