
#include "gpu/instruction.h"

namespace sonde::gpu {
namespace {

// The words of an instruction as one number.
struct Bits {
  uint64_t value;
  uint32_t operator()(unsigned high, unsigned low) const {
    return static_cast<uint32_t>(value >> low & ((uint64_t{1} << (high - low + 1)) - 1));
  }
  bool operator[](unsigned bit) const { return (value >> bit & 1) != 0; }
};

constexpr uint16_t kSdwaSource = 249, kDppSource = 250, kFirstVgpr = 256;

int32_t signed_of(uint32_t value, unsigned bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

struct Place {
  Format format;
  uint32_t number;
  uint8_t words;
};

std::optional<Place> scalar_place(Bits bits) {
  switch (bits(31, 23)) {
    case 0x17d:
      return Place{Format::kSop1, bits(15, 8), 1};
    case 0x17e:
      return Place{Format::kSopc, bits(22, 16), 1};
    case 0x17f:
      return Place{Format::kSopp, bits(22, 16), 1};
  }
  if (bits(31, 28) == 0xb) return Place{Format::kSopk, bits(27, 23), 1};
  return Place{Format::kSop2, bits(29, 23), 1};
}

std::optional<Place> place_of(Bits bits) {
  if (!bits[31]) {
    if (bits(30, 25) == 0x3e) return Place{Format::kVopc, bits(24, 17), 1};
    if (bits(30, 25) == 0x3f) return Place{Format::kVop1, bits(16, 9), 1};
    return Place{Format::kVop2, bits(30, 25), 1};
  }
  if (!bits[30]) return scalar_place(bits);
  switch (bits(31, 26)) {
    case 0x30:
      return Place{Format::kSmem, bits(25, 18), 2};
    case 0x34:
      if (bits(25, 23) == 7) return Place{Format::kVop3p, bits(22, 16), 2};
      return Place{Format::kVop3, bits(25, 16), 2};
    case 0x36:
      return Place{Format::kDs, bits(24, 17), 2};
    case 0x37: {
      constexpr Format kSegments[] = {Format::kFlat, Format::kScratch, Format::kGlobal};
      if (bits(15, 14) == 3) return std::nullopt;
      return Place{kSegments[bits(15, 14)], bits(24, 18), 2};
    }
    case 0x38:
      return Place{Format::kMubuf, bits(24, 18), 2};
    case 0x3a:
      return Place{Format::kMtbuf, bits(18, 15), 2};
  }
  return std::nullopt;
}

// The fields of a format, before the opcode says which ones it uses: nine-bit operand numbers, in
// which VGPRs begin at 256, or eight-bit ones where only one kind of register is possible.
struct Fields {
  uint16_t vdst = 0, src[3] = {}, sdst = 0;
  bool acc_dst = false, acc_src[3] = {};  // the operands are accumulators
};

void read_smem(Bits bits, Fields& fields, Modifiers& mods) {
  fields.vdst = static_cast<uint16_t>(bits(12, 6));
  fields.src[0] = static_cast<uint16_t>(bits(5, 0) << 1);
  mods.glc = bits[16];
  mods.nv = bits[15];
  mods.has_offset = bits[17];
  if (bits[17]) mods.offset = signed_of(bits(52, 32), 21);
  if (bits[14]) {
    mods.scalar_offset = static_cast<uint8_t>(bits(63, 57));
  } else if (!bits[17]) {
    mods.scalar_offset = static_cast<uint8_t>(bits(38, 32));
  }
}

void read_vop3(Bits bits, Fields& fields, Modifiers& mods) {
  fields.vdst = static_cast<uint16_t>(bits(7, 0));
  fields.src[0] = static_cast<uint16_t>(bits(40, 32));
  fields.src[1] = static_cast<uint16_t>(bits(49, 41));
  fields.src[2] = static_cast<uint16_t>(bits(58, 50));
  fields.sdst = static_cast<uint16_t>(bits(14, 8));
  mods.clamp = bits[15];
  mods.abs = static_cast<uint8_t>(bits(10, 8));
  mods.op_sel = static_cast<uint8_t>(bits(14, 11));
  mods.omod = static_cast<uint8_t>(bits(60, 59));
  mods.neg = static_cast<uint8_t>(bits(63, 61));
}

void read_vop3p(Bits bits, bool is_matrix, bool is_accumulator_move, Fields& fields,
                Modifiers& mods) {
  fields.vdst = static_cast<uint16_t>(bits(7, 0));
  fields.src[0] = static_cast<uint16_t>(bits(40, 32));
  fields.src[1] = static_cast<uint16_t>(bits(49, 41));
  fields.src[2] = static_cast<uint16_t>(bits(58, 50));
  if (is_accumulator_move) return;  // the opcode says which one is the accumulator
  if (is_matrix) {
    fields.acc_src[0] = bits[59];
    fields.acc_src[1] = bits[60];
    fields.acc_dst = fields.acc_src[2] = bits[15];
    mods.cbsz = static_cast<uint8_t>(bits(10, 8));
    mods.abid = static_cast<uint8_t>(bits(14, 11));
    mods.blgp = static_cast<uint8_t>(bits(63, 61));
    return;
  }
  mods.neg_hi = static_cast<uint8_t>(bits(10, 8));
  mods.op_sel = static_cast<uint8_t>(bits(13, 11));
  mods.op_sel_hi = static_cast<uint8_t>(bits(60, 59) | bits(14, 14) << 2);
  mods.neg = static_cast<uint8_t>(bits(63, 61));
  mods.clamp = bits[15];
}

void read_ds(Bits bits, Fields& fields, Modifiers& mods) {
  fields.vdst = static_cast<uint16_t>(bits(63, 56));
  for (unsigned i = 0; i < 3; ++i) {
    fields.src[i] = static_cast<uint16_t>(bits(39 + 8 * i, 32 + 8 * i));
  }
  fields.acc_dst = fields.acc_src[1] = fields.acc_src[2] = bits[25];
  mods.offset = static_cast<int32_t>(bits(15, 0));
  mods.gds = bits[16];
}

void read_flat(Bits bits, Format format, Fields& fields, Modifiers& mods) {
  fields.src[0] = static_cast<uint16_t>(bits(39, 32));
  fields.src[1] = static_cast<uint16_t>(bits(47, 40));
  fields.vdst = static_cast<uint16_t>(bits(63, 56));
  fields.acc_dst = fields.acc_src[1] = bits[55];
  mods.offset =
      format == Format::kFlat ? static_cast<int32_t>(bits(11, 0)) : signed_of(bits(12, 0), 13);
  mods.lds = bits[13];
  mods.glc = bits[16];
  mods.slc = bits[17];
  mods.scc = bits[25];
  if (format != Format::kFlat && bits(54, 48) != 0x7f) {
    mods.scalar_base = static_cast<uint8_t>(bits(54, 48));
  }
  mods.has_vaddr = format != Format::kScratch || !mods.scalar_base;
}

void read_buffer(Bits bits, Format format, Fields& fields, Modifiers& mods) {
  fields.vdst = static_cast<uint16_t>(bits(47, 40));
  fields.src[0] = static_cast<uint16_t>(bits(52, 48) << 2);
  fields.acc_dst = bits[55];
  mods.vaddr = static_cast<uint8_t>(bits(39, 32));
  mods.scalar_offset = static_cast<uint8_t>(bits(63, 56));
  mods.offset = static_cast<int32_t>(bits(11, 0));
  mods.offen = bits[12];
  mods.idxen = bits[13];
  mods.has_vaddr = mods.offen || mods.idxen;
  mods.glc = bits[14];
  if (format == Format::kMubuf) {
    mods.scc = bits[15];
    mods.lds = bits[16];
    mods.slc = bits[17];
  } else {
    mods.dfmt = static_cast<uint8_t>(bits(22, 19));
    mods.nfmt = static_cast<uint8_t>(bits(25, 23));
    mods.scc = bits[53];
    mods.slc = bits[54];
  }
}

// The word that follows VOP1, VOP2 and VOPC.
void read_sdwa(Bits word, Format format, Fields& fields, Modifiers& mods) {
  const uint16_t first = word[23] ? 0 : kFirstVgpr;
  fields.src[0] = static_cast<uint16_t>(word(7, 0) + first);
  if (word[31] && format != Format::kVop1) {
    fields.src[1] = static_cast<uint16_t>(fields.src[1] - kFirstVgpr);
  }
  mods.src_sel[0] = static_cast<uint8_t>(word(18, 16));
  mods.src_sel[1] = static_cast<uint8_t>(word(26, 24));
  mods.sext = static_cast<uint8_t>(word(19, 19) | word(27, 27) << 1);
  mods.neg = static_cast<uint8_t>(word(20, 20) | word(28, 28) << 1);
  mods.abs = static_cast<uint8_t>(word(21, 21) | word(29, 29) << 1);
  if (format == Format::kVopc) {
    fields.sdst = static_cast<uint16_t>(word[15] ? word(14, 8) : uint32_t{kVcc});
    return;
  }
  mods.dst_sel = static_cast<uint8_t>(word(10, 8));
  mods.dst_unused = static_cast<uint8_t>(word(12, 11));
  mods.clamp = word[13];
  mods.omod = static_cast<uint8_t>(word(15, 14));
}

void read_dpp(Bits word, Fields& fields, Modifiers& mods) {
  fields.src[0] = static_cast<uint16_t>(word(7, 0) + kFirstVgpr);
  mods.dpp_ctrl = static_cast<uint16_t>(word(16, 8));
  mods.bound_ctrl = word[19];
  mods.neg = static_cast<uint8_t>(word(20, 20) | word(22, 22) << 1);
  mods.abs = static_cast<uint8_t>(word(21, 21) | word(23, 23) << 1);
  mods.bank_mask = static_cast<uint8_t>(word(27, 24));
  mods.row_mask = static_cast<uint8_t>(word(31, 28));
}

Fields read_fields(const Opcode& opcode, Bits bits, Modifiers& mods) {
  Fields fields;
  fields.sdst = kVcc;
  switch (opcode.format) {
    case Format::kSop2:
    case Format::kSop1:
    case Format::kSopc:
      fields.vdst = static_cast<uint16_t>(bits(22, 16));
      fields.src[0] = static_cast<uint16_t>(bits(7, 0));
      fields.src[1] = static_cast<uint16_t>(bits(15, 8));
      break;
    case Format::kSopk:
    case Format::kSopp:
      fields.vdst = static_cast<uint16_t>(bits(22, 16));
      mods.immediate = static_cast<uint16_t>(bits(15, 0));
      break;
    case Format::kSmem:
      read_smem(bits, fields, mods);
      break;
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
      fields.vdst = static_cast<uint16_t>(bits(24, 17));
      fields.src[0] = static_cast<uint16_t>(bits(8, 0));
      fields.src[1] = static_cast<uint16_t>(bits(16, 9) + kFirstVgpr);
      break;
    case Format::kVop3:
      read_vop3(bits, fields, mods);
      break;
    case Format::kVop3p:
      read_vop3p(bits, opcode.name.starts_with("v_mfma"), opcode.name.starts_with("v_accvgpr"),
                 fields, mods);
      break;
    case Format::kDs:
      read_ds(bits, fields, mods);
      break;
    case Format::kFlat:
    case Format::kScratch:
    case Format::kGlobal:
      read_flat(bits, opcode.format, fields, mods);
      break;
    case Format::kMubuf:
    case Format::kMtbuf:
      read_buffer(bits, opcode.format, fields, mods);
      break;
  }
  return fields;
}

bool is_vector_format(Format format) {
  return format == Format::kVop1 || format == Format::kVop2 || format == Format::kVopc;
}

// A nine-bit source encodes its kind; the kind of an eight-bit one comes from the opcode.
Operand operand_of(const OperandPlace& place, const Fields& fields, bool has_wide_sources) {
  Operand operand;
  operand.count = place.count;
  operand.field = place.field;
  bool is_accumulator = place.registers == Registers::kAccumulator;
  switch (place.field) {
    case Field::kVdst:
      operand.number = fields.vdst;
      is_accumulator |= fields.acc_dst;
      break;
    case Field::kSrc0:
    case Field::kSrc1:
    case Field::kSrc2: {
      const size_t source = static_cast<size_t>(place.field) - static_cast<size_t>(Field::kSrc0);
      operand.number = fields.src[source];
      is_accumulator |= fields.acc_src[source];
      break;
    }
    case Field::kSdst:
      operand.number = fields.sdst;
      break;
    case Field::kVcc:
      operand.number = kVcc;
      break;
    case Field::kM0:
      operand.number = kM0;
      break;
    case Field::kExec:
      operand.number = kExec;
      break;
    case Field::kLiteral:
      operand.number = kLiteral;
      break;
  }
  const bool is_source = place.field >= Field::kSrc0 && place.field <= Field::kSrc2;
  const bool may_be_scalar = place.registers == Registers::kScalar ||
                             place.registers == Registers::kAny || (is_source && has_wide_sources);
  if (may_be_scalar && operand.number < kFirstVgpr) return operand;
  operand.number = static_cast<uint16_t>(operand.number & 255);
  operand.kind = is_accumulator ? Operand::Kind::kAccumulator : Operand::Kind::kVector;
  return operand;
}

}  // namespace

std::optional<Instruction> decode(Architecture architecture, std::span<const uint32_t> words) {
  if (words.empty()) return std::nullopt;
  Bits bits{words[0]};
  const auto place = place_of(bits);
  if (!place || words.size() < place->words) return std::nullopt;
  if (place->words == 2) bits.value |= uint64_t{words[1]} << 32;
  Instruction made;
  made.opcode = find_opcode(architecture, place->format, place->number);
  if (made.opcode == nullptr) return std::nullopt;
  made.words = place->words;
  Fields fields = read_fields(*made.opcode, bits, made.modifiers);
  if (is_vector_format(place->format)) {
    const bool is_sdwa = fields.src[0] == kSdwaSource, is_dpp = fields.src[0] == kDppSource;
    if (is_sdwa || is_dpp) {
      if (words.size() < 2) return std::nullopt;
      made.words = 2;
      made.encoding = is_sdwa ? Encoding::kSdwa : Encoding::kDpp;
      if (is_sdwa) read_sdwa(Bits{words[1]}, place->format, fields, made.modifiers);
      if (is_dpp) read_dpp(Bits{words[1]}, fields, made.modifiers);
    }
  }
  const bool skips_result = made.opcode->has_return && !made.modifiers.glc;
  const bool has_wide_sources = place->format >= Format::kVop2 && place->format <= Format::kVop3p;
  bool has_literal = false;
  for (size_t i = skips_result ? 1 : 0; i < made.opcode->operands(); ++i) {
    OperandPlace of = made.opcode->places[i];
    // A VOPC comparison has no destination field: it writes VCC, or with SDWA any lane mask.
    if (of.field == Field::kVcc && i == 0 && place->format == Format::kVopc)
      of.field = Field::kSdst;
    const Operand operand = operand_of(of, fields, has_wide_sources);
    has_literal |= operand.is_literal() && place->words == 1;
    made.operands[made.operand_count++] = operand;
  }
  if (has_literal) {
    if (words.size() < 2) return std::nullopt;
    made.literal = words[1];
    made.words = 2;
  }
  return made;
}

}  // namespace sonde::gpu
