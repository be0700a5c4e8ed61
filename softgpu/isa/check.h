// Check: what a kernel does wrong with memory, for --check memory and --check race: accesses that
// are out of bounds or of freed memory, reads of what nobody wrote, and races between the waves of
// a work group. GroupCheck sees each access of a group's waves before it is done (watch.cpp).
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
  bool is_local = false;   // in LDS: the address is an offset
  bool is_scalar = false;  // of the whole wave: the lane is the first that is on
  Access access = Access::kNone;
  uint32_t lane = 0, lanes = 1;  // the first, and how many do the same wrong
  uint32_t bytes = 0;            // of the access of a lane
  uint64_t begin = 0;            // of the access of the first lane
  uint64_t address = 0;          // the first byte that is wrong
  uint64_t pc = 0;
  // Of a race: the access before. The same wave's is of the same instruction.
  uint32_t other_wave = 0, other_lane = 0;
  uint64_t other_pc = 0;
  bool other_writes = false, other_is_scalar = false;
};
// "out_of_bounds", as the lines of WAVES.md have it.
const char* name_of(Finding::Kind kind);
// "lane 3 stores 4 bytes at 0x7f00 out of bounds", for people.
std::string text_of(const Finding& finding);

// What is checked, by all groups of a process. Thread-safe.
class Check {
 public:
  // `allocations`: nullptr where memory is not checked.
  Check(const Allocations* allocations, bool races)
      : allocations_(allocations), checks_races_(races) {}
  const Allocations* allocations() const { return allocations_; }
  bool checks_races() const { return checks_races_; }
  // True once for each kind at each pair of instructions of a kernel, by where it begins, and not
  // too often in all.
  bool is_new(uint64_t entry, const Finding& finding);

 private:
  static constexpr size_t kMost = 1000;
  const Allocations* const allocations_;
  const bool checks_races_;
  std::mutex mutex_;
  std::set<std::tuple<uint64_t, Finding::Kind, uint64_t, uint64_t>> known_;
};

// Memory that only this dispatch has: its arguments, its packet.
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
  // All waves have met.
  void passes_barrier() { shadow_.clear(); }
  // The lanes of `exec` are about to access the addresses. What is wrong is in findings(), each
  // kind once; true if the wave must not go on.
  struct Use {
    const Wave& wave;
    const Op& op;
    const OpcodeClass& kind;
    std::span<const uint64_t> addresses;  // of lanes; one of a scalar instruction
    uint64_t exec = 0;
    unsigned place = 0;  // of instructions with two
    bool is_local = false;
  };
  bool sees(const Use& use);
  // An instruction of which it is not known what it does with LDS: all of it may be written now.
  void loses_local() { written_.clear(); }
  const std::vector<Finding>& findings() const { return findings_; }
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
  // What was found of late.
  static constexpr unsigned kRecent = 4;
  Allocations::Found recent_[kRecent];
  unsigned next_recent_ = 0;
  uint64_t version_ = 0;
  std::vector<bool> written_;  // bytes of LDS; behind its end: not known, so taken for written
  RaceShadow shadow_;
  std::vector<Finding> findings_;
};

}  // namespace softgpu::isa
