// One decoded instruction of a GPU's machine code: its opcode, registers and modifiers. Decoding
// allocates no memory and needs no library; an unknown word is reported as such, never guessed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "gpu/opcode.h"

namespace sonde::gpu {

// The numbers of scalar operands in instructions.
enum Scalar : uint16_t {
  kFlatScratch = 102,
  kXnackMask = 104,
  kVcc = 106,
  kTtmp = 108,
  kM0 = 124,
  kExec = 126,
  kZero = 128,        // and 129 to 192 are 1 to 64, 193 to 208 are -1 to -16
  kSharedBase = 235,  // shared limit, private base and limit, POPS follow
  kHalf = 240,        // -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi) follow
  kVccz = 251,
  kExecz = 252,
  kScc = 253,
  kLdsDirect = 254,
  kLiteral = 255,
};

struct Operand {
  enum class Kind : uint8_t { kScalar, kVector, kAccumulator };
  Kind kind = Kind::kScalar;
  uint8_t count = 1;    // of registers
  uint16_t number = 0;  // for kScalar one of Scalar, or an SGPR below kFlatScratch
  Field field = Field::kVdst;
  bool is_literal() const { return kind == Kind::kScalar && number == kLiteral; }
  bool is_register() const { return kind != Kind::kScalar || number < kZero; }
};

// What modifies an instruction besides its operands.
struct Modifiers {
  // VOP3, VOP3P, SDWA, DPP: one bit per source.
  uint8_t neg = 0, abs = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 0;
  uint8_t omod = 0;
  bool clamp = false;
  // SDWA.
  uint8_t dst_sel = 6, dst_unused = 0, src_sel[2] = {6, 6}, sext = 0;
  // DPP.
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 15, bank_mask = 15;
  bool bound_ctrl = false;
  // MFMA: which blocks are broadcast, and how.
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  // Memory.
  int32_t offset = 0;
  bool glc = false, slc = false, scc = false, lds = false, gds = false, nv = false;
  bool offen = false, idxen = false, has_offset = false;
  uint8_t dfmt = 0, nfmt = 0;
  std::optional<uint8_t> scalar_offset;  // SMEM, buffers: a scalar operand that is added
  std::optional<uint8_t> scalar_base;    // FLAT: an SGPR pair; scratch: one SGPR
  bool has_vaddr = true;                 // for scratch and buffers
  uint8_t vaddr = 0;                     // for buffers
  uint16_t immediate = 0;                // SOPK, SOPP
};

enum class Encoding : uint8_t { kPlain, kSdwa, kDpp };

struct Instruction {
  const Opcode* opcode = nullptr;
  Encoding encoding = Encoding::kPlain;
  uint8_t words = 1;  // including the literal
  uint8_t operand_count = 0;
  std::array<Operand, 6> operands{};  // in assembly order
  uint32_t literal = 0;
  Modifiers modifiers;
};

// The instruction that the words begin with; nullopt if there is none, or if it is not complete. It
// includes a literal and the SDWA or DPP word, so three words always suffice.
std::optional<Instruction> decode(Architecture architecture, std::span<const uint32_t> words);

}  // namespace sonde::gpu
