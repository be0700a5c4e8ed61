// Opcodes of the machine code of AMD's GPUs (gfx906, gfx908, gfx90a) and where their operands are.
// The table is made by tools/gpu_opcodes.py. Used by the decoder and the disassembly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sonde::gpu {

enum class Architecture : uint8_t { kGfx906, kGfx908, kGfx90a };
// "gfx90a"; nullopt for what the table does not have.
std::optional<Architecture> architecture_of(std::string_view name);

// How an instruction is laid out in its one or two words, by AMD's names. kScratch and kGlobal are
// FLAT with a segment.
enum class Format : uint8_t {
  kSop2,
  kSopk,
  kSop1,
  kSopc,
  kSopp,
  kSmem,
  kVop2,
  kVop1,
  kVopc,
  kVop3,
  kVop3p,
  kDs,
  kFlat,
  kScratch,
  kGlobal,
  kMubuf,
  kMtbuf,
};
constexpr size_t kFormats = 17;

// The fields of a format that name registers.
enum class Field : uint8_t {
  kVdst,  // the result: vdst, sdst or sdata; of buffers vdata
  kSrc0,  // the first source; of memory the address, of SMEM sbase, of buffers srsrc
  kSrc1,  // the second; of memory the data
  kSrc2,
  kSdst,  // of VOP3: the lane mask beside vdst
  kVcc,   // not a field: VCC is meant
  kM0,
  kExec,     // the same
  kLiteral,  // the word behind the instruction
};

enum class Registers : uint8_t { kScalar, kVector, kAccumulator, kAny };

struct OperandPlace {
  Field field = Field::kVdst;
  uint8_t count = 0;  // of registers
  Registers registers = Registers::kAny;
};

struct Opcode {
  Format format = Format::kSop2;
  uint16_t number = 0;
  uint8_t architectures = 0;  // a bit for each Architecture
  std::string_view name;      // without _e32, _e64, _sdwa, _dpp
  bool has_suffix = false;    // assembly adds _e32 or _e64
  bool has_return =
      false;  // an atomic operation of memory whose first operand is there only with glc
  std::array<OperandPlace, 6> places{};  // in the order of assembly; `count` 0 ends them
  size_t operands() const;
};

// nullptr if there is no such opcode.
const Opcode* find_opcode(Architecture architecture, Format format, uint32_t number);
std::span<const Opcode> all_opcodes();

}  // namespace sonde::gpu
