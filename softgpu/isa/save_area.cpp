#include "isa/save_area.h"

#include <algorithm>
#include <cstring>

namespace softgpu::isa {
namespace {

using sonde::gpu::Architecture;

constexpr uint32_t kState = 1U << 31;  // otherwise a wave
constexpr uint32_t kLastOfGroup = 1U << 16, kFirstOfGroup = 1U << 17;
constexpr uint32_t kLdsUnit = 512;
constexpr size_t kGap = 64, kTtmps = 16, kHardware = 16;  // bytes, registers, registers
// As many as a wave can have with the trap handler's registers: this fixes the register numbers of
// VCC, XNACK_MASK and FLAT_SCRATCH.
constexpr uint32_t kScalarBlocks = 7;
constexpr size_t kScalars = (kScalarBlocks + 1) * 16 - kTtmps, kUsedScalars = sonde::gpu::kTtmp;
constexpr size_t kRow = kLanes * sizeof(uint32_t);
constexpr uint32_t kHalted = 1U << 13;

uint32_t vector_unit(Architecture architecture) {
  return architecture == Architecture::kGfx90a ? 8 : 4;
}

// The allocation granularity of LDS.
size_t lds_bytes(const StoppedGroup& group) {
  return (group.lds.size() + kLdsUnit - 1) / kLdsUnit * kLdsUnit;
}

size_t wave_bytes(const StoppedGroup& group, bool is_first) {
  return kGap + (is_first ? lds_bytes(group) : 0) + (kTtmps + kHardware + kScalars) * 4 +
         (group.registers.vectors + group.registers.accumulators) * kRow;
}

size_t total_bytes(std::span<const StoppedGroup> groups) {
  size_t total = 0;
  for (const StoppedGroup& group : groups) {
    for (size_t i = 0; i < group.waves.size(); ++i) total += wave_bytes(group, i == 0);
  }
  return total;
}

// The state word for all waves that follow it.
uint32_t state_word(const StoppedGroup& group) {
  const WaveRegisters& registers = group.registers;
  const uint32_t lds = static_cast<uint32_t>(lds_bytes(group)) / kLdsUnit;
  uint32_t of_both = registers.vectors;
  if (registers.architecture == Architecture::kGfx90a) of_both += registers.accumulators;
  uint32_t word =
      kState | (of_both / vector_unit(registers.architecture) - 1) | kScalarBlocks << 6 | lds << 9;
  if (registers.architecture == Architecture::kGfx90a) word |= (registers.vectors / 4 - 1) << 24;
  return word;
}

// M0, PC, EXEC, STATUS, TRAPSTS, XNACK_MASK and MODE, in the order in which they are saved.
enum Hardware {
  kM0,
  kPcLow,
  kPcHigh,
  kExecLow,
  kExecHigh,
  kStatus,
  kTrapStatus,
  kXnackLow,
  kXnackHigh,
  kMode
};

void put_hardware(const Wave& wave, uint32_t* to) {
  to[kM0] = wave.s[sonde::gpu::kM0];
  to[kPcLow] = static_cast<uint32_t>(wave.pc);
  to[kPcHigh] = static_cast<uint32_t>(wave.pc >> 32);
  to[kExecLow] = wave.s[sonde::gpu::kExec];
  to[kExecHigh] = wave.s[sonde::gpu::kExec + 1];
  to[kStatus] = status_of(wave);
  to[kTrapStatus] = wave.trap_status;
  to[kXnackLow] = wave.s[sonde::gpu::kXnackMask];
  to[kXnackHigh] = wave.s[sonde::gpu::kXnackMask + 1];
  to[kMode] = wave.mode;
}

void take_hardware(const uint32_t* from, Wave& wave) {
  wave.s[sonde::gpu::kM0] = from[kM0];
  wave.pc = from[kPcLow] | uint64_t{from[kPcHigh] & 0xffff} << 32;
  wave.s[sonde::gpu::kExec] = from[kExecLow];
  wave.s[sonde::gpu::kExec + 1] = from[kExecHigh];
  wave.scc = from[kStatus] & 1;
  wave.is_halted = (from[kStatus] & kHalted) != 0;
  wave.trap_status = from[kTrapStatus];
  wave.s[sonde::gpu::kXnackMask] = from[kXnackLow];
  wave.s[sonde::gpu::kXnackMask + 1] = from[kXnackHigh];
  wave.mode = from[kMode];
}

// Where the parts of a wave are; each lies below the one before.
struct Place {
  uint8_t *lds, *ttmps, *hardware, *scalars, *accumulators, *vectors;

  Place(uint8_t* end, const StoppedGroup& group, bool is_first)
      : lds(end - kGap - (is_first ? lds_bytes(group) : 0)),
        ttmps(lds - kTtmps * 4),
        hardware(ttmps - kHardware * 4),
        scalars(hardware - kScalars * 4),
        accumulators(scalars - group.registers.accumulators * kRow),
        vectors(accumulators - group.registers.vectors * kRow) {}
};

void put(const Wave& wave, const StoppedGroup& group, bool is_first, const Place& to) {
  if (is_first && !group.lds.empty()) std::memcpy(to.lds, group.lds.data(), group.lds.size());
  std::memcpy(to.ttmps, &wave.s[sonde::gpu::kTtmp], kTtmps * 4);
  uint32_t hardware[kHardware] = {};
  put_hardware(wave, hardware);
  std::memcpy(to.hardware, hardware, sizeof hardware);
  std::memcpy(to.scalars, wave.s, kUsedScalars * 4);
  std::memcpy(to.accumulators, wave.v[256], group.registers.accumulators * kRow);
  std::memcpy(to.vectors, wave.v[0], group.registers.vectors * kRow);
}

void take(const Place& from, const StoppedGroup& group, bool is_first, Wave& wave) {
  if (is_first && !group.lds.empty()) std::memcpy(group.lds.data(), from.lds, group.lds.size());
  std::memcpy(&wave.s[sonde::gpu::kTtmp], from.ttmps, kTtmps * 4);
  uint32_t hardware[kHardware];
  std::memcpy(hardware, from.hardware, sizeof hardware);
  std::memcpy(wave.s, from.scalars, kUsedScalars * 4);
  take_hardware(hardware, wave);
  std::memcpy(wave.v[256], from.accumulators, group.registers.accumulators * kRow);
  std::memcpy(wave.v[0], from.vectors, group.registers.vectors * kRow);
}

}  // namespace

WaveRegisters registers_of(Architecture architecture, const sonde::gpu::KernelDescriptor& kernel) {
  const uint32_t all = ((kernel.rsrc1 & 63) + 1) * vector_unit(architecture);
  switch (architecture) {
    case Architecture::kGfx90a: {
      const uint32_t vectors = std::min(all, ((kernel.rsrc3 & 63) + 1) * 4);
      return {architecture, vectors, all - vectors};
    }
    case Architecture::kGfx908:
      return {architecture, all, all};
    default:
      return {architecture, all, 0};
  }
}

SavedWaves save(std::span<const StoppedGroup> groups) {
  SavedWaves saved;
  saved.waves.resize(total_bytes(groups));
  if (saved.waves.empty()) return saved;
  saved.control_stack = {0, 0};  // the packet processor's words
  uint8_t* end = saved.waves.data() + saved.waves.size();
  for (const StoppedGroup& group : groups) {
    if (!group.waves.empty()) saved.control_stack.push_back(state_word(group));
    for (size_t i = 0; i < group.waves.size(); ++i) {
      const bool is_first = i == 0, is_last = i + 1 == group.waves.size();
      saved.control_stack.push_back((is_first ? kFirstOfGroup : 0) | (is_last ? kLastOfGroup : 0));
      const Place place(end, group, is_first);
      put(*group.waves[i], group, is_first, place);
      end = place.vectors;
    }
  }
  return saved;
}

bool restore(std::span<uint8_t> waves, std::span<const StoppedGroup> groups) {
  if (waves.size() != total_bytes(groups)) return false;
  uint8_t* end = waves.data() + waves.size();
  for (const StoppedGroup& group : groups) {
    for (size_t i = 0; i < group.waves.size(); ++i) {
      const Place place(end, group, i == 0);
      take(place, group, i == 0, *group.waves[i]);
      end = place.vectors;
    }
  }
  return true;
}

void mark_stopped(Wave& wave, uint64_t pc) {
  constexpr uint32_t kStopped = 1U << 30, kPcHighMask = 0xffffU << 7;
  uint32_t* const ttmp = &wave.s[sonde::gpu::kTtmp];
  ttmp[6] |= kStopped;
  ttmp[7] = static_cast<uint32_t>(pc);
  ttmp[11] = (ttmp[11] & ~kPcHighMask) | (static_cast<uint32_t>(pc >> 32) & 0xffff) << 7;
  wave.is_halted = true;
}

}  // namespace softgpu::isa
