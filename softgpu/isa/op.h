// Op: an instruction made ready to run: what it does as a function, and its operands as numbers.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "gpu/instruction.h"
#include "isa/wave.h"

namespace softgpu::isa {

struct Op;
using Handler = void (*)(Wave&, const Op&);

// Operands below are scalar ones by their number; VGPRs and accumulators begin here.
constexpr uint16_t kFirstVgpr = 256, kFirstAccumulator = 512;

enum class FloatKind : uint8_t { kNone, kSingle, kDoubleOrHalf };  // by which MODE governs it

struct Op {
  Handler run = nullptr;
  uint16_t src[3] = {};  // by field, not by place in assembly
  uint16_t dst = 0;      // row of the vector file; of scalar instructions the SGPR
  uint16_t sdst = 0;     // SGPR of a lane mask
  uint8_t words = 1;
  bool is_plain = true;  // a VALU instruction without any modifier
  FloatKind float_kind = FloatKind::kNone;
  sonde::gpu::Encoding encoding = sonde::gpu::Encoding::kPlain;
  uint32_t literal = 0;
  sonde::gpu::Modifiers mods;
  const sonde::gpu::Opcode* opcode = nullptr;
  uint32_t raw[3] = {};  // the words it was made from
  uint64_t address = 0;
};

// Collects what the files of instructions have; name is that of gpu::Opcode.
class Table;
void add(Table& table, const char* name, Handler handler);
void add(Table& table, const char* prefix, const char* name, Handler handler);
void add(Table& table, std::initializer_list<const char*> parts_of_name, Handler handler);

// The function for a name, compiled for the best of this machine's instruction sets; nullptr if
// nobody has written it.
Handler find_handler(std::string_view name);

}  // namespace softgpu::isa
