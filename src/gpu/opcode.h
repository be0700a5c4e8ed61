// Opcodes of AMD GPUs' machine code (gfx906, gfx908, gfx90a) and where their operands are.
// tools/gpu_opcodes.py generates the table. Used by the decoder and the disassembler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sonde::gpu {

enum class Architecture : uint8_t { kGfx906, kGfx908, kGfx90a };
// "gfx90a"; nullopt if the table does not have it.
std::optional<Architecture> architecture_of(std::string_view name);

// How an instruction is encoded in its one or two words, by AMD's names. kScratch and kGlobal are
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
  kVdst,  // result: vdst, sdst or sdata; vdata of buffers
  kSrc0,  // first source; address of memory, sbase of SMEM, srsrc of buffers
  kSrc1,  // second source; data of memory
  kSrc2,
  kSdst,  // VOP3: the lane mask beside vdst
  kVcc,   // not a field: implicit VCC
  kM0,
  kExec,     // not a field: implicit EXEC
  kLiteral,  // the word that follows the instruction
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
  uint8_t architectures = 0;  // one bit per Architecture
  std::string_view name;      // without _e32, _e64, _sdwa, _dpp
  bool has_suffix = false;    // assembly adds _e32 or _e64
  bool has_return =
      false;  // an atomic operation of memory whose first operand is there only with glc
  std::array<OperandPlace, 6> places{};  // in assembly order; `count` 0 ends them
  size_t operands() const;
};

// nullptr if there is no such opcode.
const Opcode* find_opcode(Architecture architecture, Format format, uint32_t number);
std::span<const Opcode> all_opcodes();

}  // namespace sonde::gpu
