// Pm4: executes the command buffer that an AQL packet refers to: registers, memory, counters, and
// waiting for a value. One instance per queue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/amd_abi.h"
#include "device/memory.h"
#include "device/perf_registers.h"

namespace softgpu {

class Pm4 {
 public:
  Pm4(const GpuMemory& memory, PerfRegisters& registers, const ClockConfig& clock)
      : memory_(memory), registers_(registers), clock_(clock) {}

  void begin(const AqlPm4Ib& packet);
  // Continues until the end, or until something waits: then it must be called again.
  enum class Result { kDone, kWaits, kFault, kBadPacket };
  Result run(int64_t now_ns);
  uint64_t fault_address() const { return fault_; }
  // For kBadPacket: a readable reason.
  const std::string& problem() const { return problem_; }

 private:
  struct Buffer {
    const uint32_t* at = nullptr;
    uint32_t left = 0;  // dwords
  };
  using Words = const uint32_t*;

  Result enter(uint64_t address, uint32_t dwords);
  Result packet(uint32_t opcode, Words words, uint32_t count, int64_t now_ns);
  Result set_registers(uint32_t base, Words words, uint32_t count, int64_t now_ns);
  Result swap(Words words);
  Result dma_data(Words words);
  Result copy_data(Words words, int64_t now_ns);
  Result write_data(Words words, uint32_t count, int64_t now_ns);
  Result release_memory(Words words, int64_t now_ns);
  Result wait(Words words, int64_t now_ns);
  Result store(uint64_t address, uint64_t value, bool is_wide);
  bool load(uint64_t address, uint64_t& value, bool is_wide);
  // Whether an access would be a page fault, which is kept then.
  bool faults(uint64_t address, uint64_t bytes);
  Result bad(const std::string& what);

  const GpuMemory& memory_;
  PerfRegisters& registers_;
  const ClockConfig& clock_;
  std::vector<Buffer> stack_;
  uint64_t fault_ = 0;
  uint64_t swapped_ = 0;  // the last value returned by ATOMIC_MEM
  std::string problem_;
};

}  // namespace softgpu
