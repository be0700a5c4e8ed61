// Watch: what observes the waves of a dispatch while they run, and its part for one group. An
// unobserved wave runs without any of this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counters/counters.h"
#include "isa/append_file.h"
#include "isa/caches.h"
#include "isa/check.h"
#include "isa/op.h"
#include "isa/opcode_class.h"
#include "isa/wave.h"
#include "isa/wave_log.h"

namespace softgpu::isa {

constexpr const char* kTraceHeader = "# softgpu instructions 1\n";

struct Watch {
  CounterBank* counters = nullptr;
  CacheModel* caches = nullptr;  // only with counters
  // The executed instructions as text; each group is written in one piece.
  AppendFile* trace = nullptr;
  WaveLog* waves = nullptr;
  Check* check = nullptr;
  // Gets what the checks cannot find, and if there are no `waves`, findings that do not end the
  // kernel, as text.
  std::function<void(const std::string&)> tell;
  uint32_t gpu = 0;       // the number that readers see
  uint64_t dispatch = 0;  // its number
  std::string kernel;
  bool is_needed() const {
    return counters != nullptr || trace != nullptr || waves != nullptr || check != nullptr;
  }
};

class GroupWatch {
 public:
  // The group's number within its dispatch.
  struct Group {
    uint64_t number = 0, code = 0;  // code: where the code object's code begins
    uint32_t waves = 0;
    uint64_t entry = 0;  // where the kernel begins
    uint32_t lds_bytes = 0;
    const sonde::gpu::KernelDescriptor* kernel = nullptr;
    std::span<const OwnMemory> own;  // memory that its waves may read
  };
  void begin(const Watch& watch, const Group& group);
  void starts(const Wave& wave);
  // Called before each instruction. May stop the wave (Stop::kBadAccess); bad_access() then says
  // why.
  void sees(Wave& wave, const Op& op);
  // All waves have reached a barrier.
  void passes_barrier();
  const Finding& bad_access() const { return bad_access_; }
  // Whether the state of all waves was requested; true once per request.
  bool is_asked();
  // Logs the wave, which is about to run the instruction at its pc or, as `why` says, has failed at
  // the last one.
  void show(const Wave& wave, const char* why, const sonde::gpu::KernelDescriptor& kernel);
  // All waves have ended, or the kernel has failed.
  void end();

 private:
  void count(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void count_local(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void count_flat(const Wave& wave, const OpcodeClass& kind);
  void find_addresses(const Wave& wave, const Op& op, const OpcodeClass& kind, unsigned place);
  void model(const Wave& wave, const Op& op, const OpcodeClass& kind);
  void check(Wave& wave, const Op& op, const OpcodeClass& kind);
  void check_at(Wave& wave, const GroupCheck::Use& use);
  void describe(const Wave& wave, const Op& op, const OpcodeClass& kind);

  WavePlace place_at(uint64_t pc) const {
    return {watch_->gpu, watch_->dispatch, watch_->kernel, code_, group_, pc};
  }

  const Watch* watch_ = nullptr;
  uint64_t group_ = 0, code_ = 0, entry_ = 0;
  const sonde::gpu::KernelDescriptor* kernel_ = nullptr;
  GroupCheck check_;
  Finding bad_access_;
  uint64_t last_ = 0;      // where the instruction seen last was
  uint64_t answered_ = 0;  // requests
  Tally tally_{};
  std::vector<uint64_t> fetched_;  // per wave: the block of code that it fetched last
  uint64_t addresses_[kLanes] = {};
  std::string text_;
};

// For the lanes in `exec`, each accessing this many dwords at its LDS address.
struct LdsCycles {
  uint32_t active = 0, conflicts = 0;
};
LdsCycles lds_cycles(const uint64_t (&addresses)[kLanes], uint64_t exec, unsigned dwords);

}  // namespace softgpu::isa
