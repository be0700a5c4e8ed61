// WaveLog: samples of where waves are, and their state at faults, at traps and on request, as lines
// of JSON that tools read while the program runs (WAVES.md). One per process; thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/code_object.h"
#include "isa/append_file.h"
#include "isa/op.h"
#include "isa/wave.h"

namespace softgpu::isa {

struct Finding;
struct OwnMemory;

// The wave that a line is about.
struct WavePlace {
  uint32_t gpu = 0;
  uint64_t dispatch = 0;  // counts the GPU's dispatches in this process, from 0
  std::string_view kernel;
  uint64_t code = 0;   // where the code object's code begins
  uint64_t group = 0;  // its number in the dispatch
  uint64_t pc = 0;     // of the next instruction, or the failed one
};

class WaveLog {
 public:
  // Appends to the file. every: a wave's instructions from one sample to the next; 0 = no samples.
  bool open(const std::string& path, uint64_t every);
  uint64_t every() const { return every_; }

  void sample(const WavePlace& place, const Wave& wave, const Op& op);
  // `finding`: --check's, if that is the reason; `own`: the dispatch's packet and arguments.
  void state(const WavePlace& place, const Wave& wave, std::string_view why,
             const sonde::gpu::KernelDescriptor& kernel, const Finding* finding = nullptr,
             std::span<const OwnMemory> own = {});
  // How often the state of all waves has been requested: each time by creating FILE.ask, which this
  // removes. Checks at most 20 times a second.
  uint64_t demands();

 private:
  AppendFile file_;
  std::string path_;
  uint64_t every_ = 0;
  std::atomic<int64_t> looked_ns_{0};
  std::atomic<uint64_t> demands_{0};
};

}  // namespace softgpu::isa
