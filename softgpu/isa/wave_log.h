// WaveLog: samples of where waves are, and their state at faults, traps and on demand, as lines of
// JSON that tools read while the program runs (WAVES.md). One for each process; thread-safe.
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

// Of which wave a line is.
struct WavePlace {
  uint32_t gpu = 0;
  uint64_t dispatch = 0;  // of the GPU in this process, from 0
  std::string_view kernel;
  uint64_t code = 0;   // where the code object's code begins
  uint64_t group = 0;  // its number in the dispatch
  uint64_t pc = 0;     // of the instruction that is next, or failed
};

class WaveLog {
 public:
  // Appends to the file. every: instructions of a wave from one sample to the next; 0 = none.
  bool open(const std::string& path, uint64_t every);
  uint64_t every() const { return every_; }

  void sample(const WavePlace& place, const Wave& wave, const Op& op);
  // `finding`: of --check, where that is why; `own`: the packet and the arguments of the dispatch.
  void state(const WavePlace& place, const Wave& wave, std::string_view why,
             const sonde::gpu::KernelDescriptor& kernel, const Finding* finding = nullptr,
             std::span<const OwnMemory> own = {});
  // How often somebody has asked for the state of all waves, by making a file: FILE.ask, which is
  // taken away. Looks at most 20 times a second.
  uint64_t demands();

 private:
  AppendFile file_;
  std::string path_;
  uint64_t every_ = 0;
  std::atomic<int64_t> looked_ns_{0};
  std::atomic<uint64_t> demands_{0};
};

}  // namespace softgpu::isa
