// Waves of the software GPU, from the file of `softgpu --waves` (softgpu/isa/WAVES.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fault/code.h"
#include "fault/report.h"

namespace sonde::fault {

// A wave's registers, and its group's LDS.
struct WaveRegisters {
  uint64_t vcc = 0;
  uint32_t m0 = 0, mode = 0, status = 0, trapsts = 0;
  std::vector<uint32_t> scalars;
  std::vector<std::vector<uint32_t>> vectors, accumulators;  // 64 lanes each
  std::vector<uint8_t> lds;
};
WaveRegisters registers_of(const Wave& wave);
std::string registers_text(const Wave& wave);  // lines of up to 80 columns (wave_text.cpp)
// By operand number; 0 for one that does not exist.
uint32_t wave_scalar(const WaveRegisters& registers, unsigned number);
uint32_t wave_vector(const WaveRegisters& registers, unsigned number, unsigned lane);

// The waves of one process, at most so many, in the order in which they were written. If a wave
// reported its position several times, the last report.
std::vector<Wave> read_waves(const std::string& path, int64_t pid, size_t from = 0,
                             size_t most = 1 << 16);

// Where a wave was after so many of its instructions.
struct PcSample {
  int64_t pid = 0, gpu = 0;
  std::string kernel;
  uint64_t pc = 0, exec = 0;
};
void each_sample(const std::string& path, const std::function<void(const PcSample&)>& visit);

// Waves of all processes with a --check finding after which the program continues. Reads whole
// lines from `from` on, and moves `from` past them.
std::vector<Wave> read_findings(const std::string& path, size_t& from);

// The same for waves that stopped at a memory fault.
std::vector<Wave> read_faulted(const std::string& path, size_t& from);

// Groups waves that stopped at the same place for the same reason.
std::vector<WaveGroup> group_waves(std::vector<Wave> waves, CodeObjects& code);

// The addresses that a wave's lanes were about to access, if its instruction accesses memory.
std::vector<WaveLane> touched_by(const Wave& wave, CodeObjects& code);

}  // namespace sonde::fault
