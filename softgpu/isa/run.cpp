#include <xmmintrin.h>

#include <algorithm>
#include <cstring>

#include "isa/program.h"
#include "isa/watch.h"
#include "isa/wave.h"

namespace softgpu::isa {
namespace {

// MXCSR: all exceptions masked, round to nearest, no flush to zero.
constexpr unsigned kUsualControl = 0x1f80;

// MXCSR for a MODE: two rounding bits, and two that say which denormals are kept.
unsigned control_of(uint32_t mode, FloatKind kind) {
  const unsigned shift = kind == FloatKind::kSingle ? 0 : 2;
  constexpr unsigned kRounding[] = {0, 2, 1, 3};  // nearest, up, down, to zero
  const unsigned denormals = mode >> (4 + shift) & 3;
  unsigned control = kUsualControl | kRounding[mode >> shift & 3] << 13;
  if ((denormals & 1) == 0) control |= 1U << 6;   // sources
  if ((denormals & 2) == 0) control |= 1U << 15;  // results
  return control;
}

// After s_set_gpr_idx_on, the VGPR numbers of vector instructions are relative to M0.
Op with_index(const Op& op, uint32_t index) {
  Op moved = op;
  const auto by = static_cast<uint16_t>(index & 255);
  for (unsigned i = 0; i < 3; ++i) {
    if ((index >> (12 + i) & 1) == 0 || op.src[i] < kFirstVgpr) continue;
    moved.src[i] = static_cast<uint16_t>(std::min(op.src[i] + by, kFirstVgpr + 511));
  }
  if (index >> 15 & 1) moved.dst = static_cast<uint16_t>(std::min(op.dst + by, 511));
  return moved;
}

bool is_vector(const Op& op) {
  return op.opcode != nullptr && op.opcode->format >= sonde::gpu::Format::kVop2 &&
         op.opcode->format <= sonde::gpu::Format::kVop3p;
}

void run_unusual(Wave& wave, const Op& op) {
  if ((wave.gpr_index & kSkipsVectors) != 0 && op.opcode != nullptr &&
      op.opcode->format >= sonde::gpu::Format::kVop2)
    return;
  const bool has_mode = (wave.mode & 255) != kUsualFloatMode && op.float_kind != FloatKind::kNone;
  if (has_mode) _mm_setcsr(control_of(wave.mode, op.float_kind));
  if (wave.gpr_index != 0 && is_vector(op)) {
    op.run(wave, with_index(op, wave.gpr_index));
  } else {
    op.run(wave, op);
  }
  if (has_mode) _mm_setcsr(kUsualControl);
}

template <bool is_watched>
void run_until_stop(Wave& wave, Program& program, uint64_t budget) {
  for (uint64_t left = budget; left > 0; --left) {
    const Op* op = program.at(wave.pc);
    if (op == nullptr) {
      wave.stop = Stop::kOutsideCode;
      return;
    }
    wave.pc += op->words * 4U;
    ++wave.executed;
    if constexpr (is_watched) {
      wave.group->watch->sees(wave, *op);
      if (wave.stop != Stop::kNone) return;
    }
    if ((wave.mode & 255) == kUsualFloatMode && wave.gpr_index == 0) {
      op->run(wave, *op);
    } else {
      run_unusual(wave, *op);
    }
    if (wave.stop != Stop::kNone) return;
    if (wave.yields) break;
  }
  wave.stop = Stop::kBudget;
}

}  // namespace

uint32_t status_of(const Wave& wave) {
  constexpr uint32_t kPrivileged = 1U << 5, kHasHandler = 1U << 6, kExecIsZero = 1U << 9,
                     kVccIsZero = 1U << 10, kHalted = 1U << 13, kIsThere = 1U << 16;
  return (wave.scc & 1) | kIsThere | (wave.is_in_handler ? kPrivileged | kHasHandler : 0) |
         (wave.exec() == 0 ? kExecIsZero : 0) | (wave.vcc() == 0 ? kVccIsZero : 0) |
         (wave.is_halted ? kHalted : 0);
}

void clear(Wave& wave) {
  std::memset(static_cast<void*>(&wave), 0, sizeof(wave));
  for (uint32_t i = 0; i <= 64; ++i) wave.s[sonde::gpu::kZero + i] = i;
  for (uint32_t i = 1; i <= 16; ++i) wave.s[192 + i] = 0 - i;
  // Base and limit of LDS, then of private memory: the upper halves of the addresses.
  wave.s[sonde::gpu::kSharedBase] = wave.s[sonde::gpu::kSharedBase + 1] = kLdsAperture;
  wave.s[sonde::gpu::kSharedBase + 2] = wave.s[sonde::gpu::kSharedBase + 3] = kPrivateAperture;
  constexpr float kConstants[] = {0.5F, -0.5F, 1, -1, 2, -2, 4, -4, 0.15915494F};
  std::memcpy(&wave.s[sonde::gpu::kHalf], kConstants, sizeof(kConstants));
}

void run(Wave& wave, Program& program, uint64_t budget) {
  wave.stop = Stop::kNone;
  wave.yields = false;
  if (wave.group->watch != nullptr) {
    run_until_stop<true>(wave, program, budget);
  } else {
    run_until_stop<false>(wave, program, budget);
  }
}

}  // namespace softgpu::isa
