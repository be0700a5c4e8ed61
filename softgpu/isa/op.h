// Op: an instruction prepared for execution: its effect as a function, its operands as numbers.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "gpu/instruction.h"
#include "isa/wave.h"

namespace softgpu::isa {

struct Op;
using Handler = void (*)(Wave&, const Op&);

// Lower operand numbers are scalar ones; VGPRs and accumulators begin here.
constexpr uint16_t kFirstVgpr = 256, kFirstAccumulator = 512;

enum class FloatKind : uint8_t { kNone, kSingle, kDoubleOrHalf };  // which part of MODE applies

struct Op {
  Handler run = nullptr;
  uint16_t src[3] = {};  // by field, not in assembly order
  uint16_t dst = 0;      // row of the vector file; for scalar instructions the SGPR
  uint16_t sdst = 0;     // SGPR of a lane mask
  uint8_t words = 1;
  bool is_plain = true;  // a VALU instruction without any modifier
  FloatKind float_kind = FloatKind::kNone;
  sonde::gpu::Encoding encoding = sonde::gpu::Encoding::kPlain;
  uint32_t literal = 0;
  sonde::gpu::Modifiers mods;
  const sonde::gpu::Opcode* opcode = nullptr;
  uint32_t raw[3] = {};  // the encoded words
  uint64_t address = 0;
};

// Collects the instructions of each file; name is that of gpu::Opcode.
class Table;
void add(Table& table, const char* name, Handler handler);
void add(Table& table, const char* prefix, const char* name, Handler handler);
void add(Table& table, std::initializer_list<const char*> parts_of_name, Handler handler);

// The function for a name, compiled for this machine's best instruction set; nullptr if it is not
// implemented.
Handler find_handler(std::string_view name);

}  // namespace softgpu::isa
