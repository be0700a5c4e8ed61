#include "gpu/print.h"

#include <fmt/format.h>

#include "gpu/print_parts.h"

namespace sonde::gpu {
namespace {

constexpr size_t kSources = 3;

bool is_vop(Format format) {
  return format == Format::kVop1 || format == Format::kVop2 || format == Format::kVopc ||
         format == Format::kVop3 || format == Format::kVop3p;
}

std::string mnemonic(const Instruction& of) {
  std::string name(of.opcode->name);
  if (of.encoding == Encoding::kSdwa) return name + "_sdwa";
  if (of.encoding == Encoding::kDpp) return name + "_dpp";
  if (!of.opcode->has_suffix) return name;
  return name + (of.opcode->format == Format::kVop3 ? "_e64" : "_e32");
}

// Which source of a vector instruction an operand is; kSources if it is none.
size_t source_of(const Operand& operand) {
  const auto field = static_cast<size_t>(operand.field);
  const auto first = static_cast<size_t>(Field::kSrc0);
  return field >= first && field < first + kSources ? field - first : kSources;
}

// Packed and mixed instructions print source modifiers at the end, others at each source.
bool is_packed(const Instruction& of) { return of.opcode->name.starts_with("v_pk_"); }
bool is_mixed(const Instruction& of) {
  return of.opcode->name.find("_mix") != std::string_view::npos;
}
bool is_matrix(const Instruction& of) { return of.opcode->name.starts_with("v_mfma"); }
bool is_dot(const Instruction& of) { return of.opcode->name.starts_with("v_dot"); }

std::string with_modifiers(const Instruction& of, const Operand& operand, std::string text) {
  const size_t source = source_of(operand);
  const Modifiers& mods = of.modifiers;
  if (source == kSources || of.opcode->format < Format::kVop2) return text;
  if (of.opcode->format == Format::kVop3p && !is_mixed(of)) return text;
  const unsigned bit = 1u << source;
  if (of.encoding == Encoding::kSdwa && (mods.sext & bit) != 0) return "sext(" + text + ")";
  const bool has_abs = ((is_mixed(of) ? mods.neg_hi : mods.abs) & bit) != 0;
  const bool has_sdst = of.opcode->operands() > 1 && of.opcode->places[1].field == Field::kSdst;
  if (has_abs && !has_sdst) text = "|" + text + "|";
  if ((mods.neg & bit) == 0) return text;
  return operand.is_register() || has_abs ? "-" + text : "neg(" + text + ")";
}

std::string bits_text(const char* name, unsigned bits, size_t count) {
  std::string text = fmt::format(" {}:[", name);
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", bits >> i & 1);
  return text + "]";
}

size_t sources_of(const Instruction& of) {
  size_t count = 0;
  for (size_t i = 0; i < of.operand_count; ++i) count += source_of(of.operands[i]) < kSources;
  return count;
}

std::string output_text(const Modifiers& mods) {
  constexpr const char* kScales[] = {"", " mul:2", " mul:4", " div:2"};
  return std::string(mods.clamp ? " clamp" : "") + kScales[mods.omod & 3];
}

std::string vop3_text(const Instruction& of) {
  const Modifiers& mods = of.modifiers;
  const bool has_sdst = of.opcode->operands() > 1 && of.opcode->places[1].field == Field::kSdst;
  std::string text;
  if (mods.op_sel != 0 && !has_sdst) {
    const size_t sources = sources_of(of);
    const unsigned sel = (mods.op_sel & ((1u << sources) - 1)) | (mods.op_sel >> 3 & 1u) << sources;
    text += bits_text("op_sel", sel, sources + 1);
  }
  return text + output_text(mods);
}

std::string vop3p_text(const Instruction& of) {
  const Modifiers& mods = of.modifiers;
  std::string text;
  if (is_matrix(of)) {
    if (mods.cbsz != 0) text += fmt::format(" cbsz:{}", mods.cbsz);
    if (mods.abid != 0) text += fmt::format(" abid:{}", mods.abid);
    if (mods.blgp != 0) text += fmt::format(" blgp:{}", mods.blgp);
    return text;
  }
  if (of.opcode->name.starts_with("v_accvgpr")) return text;
  const size_t sources = sources_of(of);
  const unsigned all = (1u << sources) - 1;
  if ((mods.op_sel & all) != 0) text += bits_text("op_sel", mods.op_sel, sources);
  const unsigned usual = is_packed(of) || is_dot(of) ? all : 0;
  if ((mods.op_sel_hi & all) != usual) text += bits_text("op_sel_hi", mods.op_sel_hi, sources);
  if (!is_mixed(of)) {
    if ((mods.neg & all) != 0) text += bits_text("neg_lo", mods.neg, sources);
    if ((mods.neg_hi & all) != 0) text += bits_text("neg_hi", mods.neg_hi, sources);
  }
  return text + (mods.clamp ? " clamp" : "");
}

std::string sdwa_text(const Instruction& of) {
  constexpr const char* kParts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                    "WORD_0", "WORD_1", "DWORD",  "?"};
  constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  const Modifiers& mods = of.modifiers;
  std::string text;
  if (of.opcode->format != Format::kVopc) {
    text = output_text(mods) + fmt::format(" dst_sel:{} dst_unused:{}", kParts[mods.dst_sel & 7],
                                           kUnused[mods.dst_unused & 3]);
  }
  const size_t sources = std::min<size_t>(sources_of(of), 2);
  for (size_t i = 0; i < sources; ++i) {
    text += fmt::format(" src{}_sel:{}", i, kParts[mods.src_sel[i] & 7]);
  }
  return text;
}

std::string dpp_text(const Modifiers& mods) {
  const unsigned control = mods.dpp_ctrl;
  std::string text;
  if (control < 0x100) {
    text = fmt::format(" quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                       control >> 6 & 3);
  } else if (control >= 0x140) {
    constexpr const char* kWhole[] = {" row_mirror", " row_half_mirror", " row_bcast:15",
                                      " row_bcast:31"};
    text =
        control < 0x144 ? kWhole[control - 0x140] : fmt::format(" row_newbcast:{}", control & 15);
  } else {
    constexpr const char* kMoves[] = {" row_shl", " row_shr", " row_ror"};
    constexpr const char* kWaves[] = {" wave_shl", " wave_rol", " wave_shr", " wave_ror"};
    text = control < 0x130 ? fmt::format("{}:{}", kMoves[(control >> 4) & 3], control & 15)
                           : fmt::format("{}:1", kWaves[(control >> 2) & 3]);
  }
  text += fmt::format(" row_mask:{:#x} bank_mask:{:#x}", mods.row_mask, mods.bank_mask);
  return text + (mods.bound_ctrl ? " bound_ctrl:0" : "");
}

std::string behind_operands(const Instruction& of) {
  if (of.encoding == Encoding::kSdwa) return sdwa_text(of);
  if (of.encoding == Encoding::kDpp) return dpp_text(of.modifiers);
  if (of.opcode->format == Format::kVop3) return vop3_text(of);
  if (of.opcode->format == Format::kVop3p) return vop3p_text(of);
  return "";
}

}  // namespace

std::string text_of(const Instruction& instruction) {
  const Format format = instruction.opcode->format;
  if (!is_vop(format)) {
    const std::string operands =
        format <= Format::kSmem ? scalar_operands(instruction) : memory_operands(instruction);
    const std::string name(instruction.opcode->name);
    return operands.empty() ? name : name + " " + operands;
  }
  std::string text = mnemonic(instruction);
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    const bool is_double = instruction.opcode->name.find("f64") != std::string_view::npos;
    text += i == 0 ? " " : ", ";
    text +=
        with_modifiers(instruction, operand,
                       operand_text(operand, instruction.literal, is_double && operand.count == 2));
  }
  return text + behind_operands(instruction);
}

}  // namespace sonde::gpu
