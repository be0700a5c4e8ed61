// Check: a kernel's invalid memory accesses, for --check memory and --check race: accesses out of
// bounds or to freed memory, uninitialised reads, and races between waves of a work-group.
// GroupCheck sees each access of a group's waves before it is done (watch.cpp).
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "isa/allocations.h"
#include "isa/op.h"
#include "isa/opcode_class.h"
#include "isa/race_shadow.h"
#include "isa/wave.h"

namespace softgpu::isa {

struct Finding {
  enum class Kind : uint8_t { kOutOfBounds, kUseAfterFree, kUninitialised, kRace };
  Kind kind = Kind::kOutOfBounds;
  bool is_local = false;   // in LDS: addresses are offsets
  bool is_scalar = false;  // by the whole wave: the lane is the first active one
  Access access = Access::kNone;
  uint32_t lane = 0, lanes = 1;  // the first lane, and how many lanes do the same
  uint32_t bytes = 0;            // size of a lane's access
  uint64_t begin = 0;            // start of the first lane's access
  uint64_t address = 0;          // the first invalid byte
  uint64_t pc = 0;
  // The earlier access of a race. If the wave is the same, so is the instruction.
  uint32_t other_wave = 0, other_lane = 0;
  uint64_t other_pc = 0;
  bool other_writes = false, other_is_scalar = false;
};
// "out_of_bounds": the names in WAVES.md.
const char* name_of(Finding::Kind kind);
// "lane 3 stores 4 bytes at 0x7f00 out of bounds", for people.
std::string text_of(const Finding& finding);

// What is checked, for all groups of a process. Thread-safe.
class Check {
 public:
  // `allocations`: nullptr if memory is not checked.
  Check(const Allocations* allocations, bool races)
      : allocations_(allocations), checks_races_(races) {}
  const Allocations* allocations() const { return allocations_; }
  bool checks_races() const { return checks_races_; }
  // True once per kind and pair of instructions of a kernel, identified by its entry, and not too
  // often in total.
  bool is_new(uint64_t entry, const Finding& finding);

 private:
  static constexpr size_t kMost = 1000;
  const Allocations* const allocations_;
  const bool checks_races_;
  std::mutex mutex_;
  std::set<std::tuple<uint64_t, Finding::Kind, uint64_t, uint64_t>> known_;
};

// Memory private to this dispatch: its arguments, its packet.
struct OwnMemory {
  uint64_t address = 0, bytes = 0;
};

class GroupCheck {
 public:
  struct Group {
    uint64_t code = 0;
    uint32_t waves = 0, lds_bytes = 0;
  };
  void begin(Check& check, std::span<const OwnMemory> own, const Group& group);
  // All waves have passed a barrier.
  void passes_barrier() { shadow_.clear(); }
  // The lanes of `exec` are about to access the addresses. findings() has what is wrong, each kind
  // once; true if the wave must stop.
  struct Use {
    const Wave& wave;
    const Op& op;
    const OpcodeClass& kind;
    std::span<const uint64_t> addresses;  // one per lane; a single one for a scalar instruction
    uint64_t exec = 0;
    unsigned place = 0;  // for instructions with two addresses
    bool is_local = false;
  };
  bool sees(const Use& use);
  // An instruction whose effect on LDS is unknown: everything counts as written from now on.
  void loses_local() { written_.clear(); }
  const std::vector<Finding>& findings() const { return findings_; }
  // True once, where too much memory was accessed since the last barrier to find all races.
  bool begins_to_miss_races() { return shadow_.becomes_full(); }
  std::span<const OwnMemory> own() const { return own_; }

 private:
  bool check_bounds(const Use& use);
  bool check_local_bounds(const Use& use);
  bool is_inside(uint64_t begin, uint64_t end, bool& is_filled);
  uint64_t first_wrong(uint64_t address, uint32_t bytes, Finding::Kind& kind) const;
  void check_initialised(const Use& use);
  void check_local_initialised(const Use& use);
  void check_races(const Use& use);
  void check_lanes(const Use& use);
  void add(const Use& use, Finding finding, unsigned lane, uint64_t begin);

  Check* check_ = nullptr;
  std::vector<OwnMemory> own_;
  uint64_t code_ = 0;
  uint32_t waves_ = 0;
  // Recently found allocations.
  static constexpr unsigned kRecent = 4;
  Allocations::Found recent_[kRecent];
  unsigned next_recent_ = 0;
  uint64_t version_ = 0;
  std::vector<bool> written_;  // per byte of LDS; beyond its end unknown, so taken as written
  RaceShadow shadow_;
  std::vector<Finding> findings_;
};

}  // namespace softgpu::isa
