// Watch: who looks on while the waves of a dispatch run, and the part of it for one group. A wave
// that nobody watches runs without any of this.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "counters/counters.h"
#include "isa/caches.h"
#include "isa/op.h"
#include "isa/opcode_class.h"
#include "isa/wave.h"
#include "isa/wave_log.h"

namespace softgpu::isa {

// The executed instructions, as text (isa/TRACE.md). Thread-safe; groups come whole.
class InstructionTrace {
 public:
  // Appends to the file. False if it cannot be written.
  bool open(const std::string& path);
  ~InstructionTrace();
  void write(const std::string& text);

 private:
  std::mutex mutex_;
  int fd_ = -1;
};

struct Watch {
  CounterBank* counters = nullptr;
  CacheModel* caches = nullptr;  // only with counters
  InstructionTrace* trace = nullptr;
  WaveLog* waves = nullptr;
  uint32_t gpu = 0;       // for readers
  uint64_t dispatch = 0;  // its number
  std::string kernel;
  bool is_needed() const { return counters != nullptr || trace != nullptr || waves != nullptr; }
};

class GroupWatch {
 public:
  // The group's number is that in its dispatch, whose code begins there.
  void begin(const Watch& watch, uint64_t group, uint64_t code);
  void starts(const Wave& wave);
  // Called for each instruction before it runs.
  void sees(const Wave& wave, const Op& op);
  // Whether somebody wants the state of all waves; true once for each demand.
  bool is_asked();
  // The wave is about to run what is at its pc, or, as `why` says, has failed at what it ran last.
  void show(const Wave& wave, const char* why, const sonde::gpu::KernelDescriptor& kernel);
  // All waves have ended, or the kernel has failed.
  void end();

 private:
  void count(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void count_local(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void count_flat(const Wave& wave, const OpcodeClass& kind);
  void find_addresses(const Wave& wave, const Op& op, const OpcodeClass& kind, unsigned place);
  void model(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void describe(const Wave& wave, const Op& op, const OpcodeClass& kind);

  WavePlace place_at(uint64_t pc) const {
    return {watch_->gpu, watch_->dispatch, watch_->kernel, code_, group_, pc};
  }

  const Watch* watch_ = nullptr;
  uint64_t group_ = 0, code_ = 0;
  uint64_t last_ = 0;      // where the instruction was that was seen last
  uint64_t answered_ = 0;  // demands
  Tally tally_{};
  std::vector<uint64_t> fetched_;  // of a wave: the block of code that it has
  uint64_t addresses_[kLanes] = {};
  std::string text_;
};

// Of the lanes in `exec`, each of which has so many dwords at its address in LDS.
struct LdsCycles {
  uint32_t active = 0, conflicts = 0;
};
LdsCycles lds_cycles(const uint64_t (&addresses)[kLanes], uint64_t exec, unsigned dwords);

}  // namespace softgpu::isa
