// OpcodeClass: how hardware counters count an opcode, and what memory it accesses, derived from its
// name and format alone. The rules are those of counters/counters.inc.
#pragma once

#include <array>
#include <cstdint>

#include "counters/counters.h"
#include "gpu/opcode.h"

namespace softgpu::isa {

enum class Space : uint8_t { kNone, kScalar, kLds, kFlat, kGlobal, kScratch, kBuffer };
enum class Access : uint8_t { kNone, kLoad, kStore, kAtomic };

struct OpcodeClass {
  std::array<counter::Id, 6> counters{};  // incremented at each execution
  uint8_t count = 0;
  bool is_valu = false;
  uint8_t passes = 1;  // quad-cycles of a VALU instruction
  Space space = Space::kNone;
  Access access = Access::kNone;
  uint8_t bytes = 0;      // per lane, at one address
  uint8_t places = 1;     // ds_read2 and the like have two addresses
  uint16_t distance = 0;  // unit of their offsets, in bytes
  counter::Id mops = counter::kCount;
  uint16_t mops_each = 0;

  void add(counter::Id id) { counters[count++] = id; }
};

// For an entry of gpu::all_opcodes().
const OpcodeClass& class_of(const sonde::gpu::Opcode& opcode);

}  // namespace softgpu::isa
