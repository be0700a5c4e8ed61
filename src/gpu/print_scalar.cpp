// Operands, and instructions of the scalar unit.
#include <fmt/format.h>

#include "gpu/print_parts.h"

namespace sonde::gpu {
namespace {

std::string registers_text(char kind, unsigned first, unsigned count) {
  if (count == 1) return fmt::format("{}{}", kind, first);
  return fmt::format("{}[{}:{}]", kind, first, first + count - 1);
}

// A named pair of scalar registers, or one of its halves.
std::string pair_text(const char* name, unsigned half, unsigned count) {
  if (count > 1) return name;
  return fmt::format("{}_{}", name, half == 0 ? "lo" : "hi");
}

std::string constant_text(uint16_t number, bool is_double) {
  if (number <= 192) return fmt::format("{}", number - kZero);
  if (number <= 208) return fmt::format("{}", 192 - number);
  constexpr const char* kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (number >= kHalf && number < kHalf + 8) return kFloats[number - kHalf];
  if (number == kHalf + 8) return is_double ? "0.15915494309189532" : "0.15915494";
  switch (number) {
    case kSharedBase:
      return "src_shared_base";
    case kSharedBase + 1:
      return "src_shared_limit";
    case kSharedBase + 2:
      return "src_private_base";
    case kSharedBase + 3:
      return "src_private_limit";
    case kSharedBase + 4:
      return "src_pops_exiting_wave_id";
    case kVccz:
      return "src_vccz";
    case kExecz:
      return "src_execz";
    case kScc:
      return "src_scc";
    case kLdsDirect:
      return "src_lds_direct";
  }
  return fmt::format("?{}", number);
}

// A literal that equals an inline constant is printed as that.
std::string literal_text(uint32_t literal) {
  const auto value = static_cast<int32_t>(literal);
  if (value >= -16 && value <= 64) return fmt::format("{}", value);
  constexpr uint32_t kBits[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  for (uint16_t i = 0; i < std::size(kBits); ++i) {
    if (literal == kBits[i]) return constant_text(static_cast<uint16_t>(kHalf + i), false);
  }
  return fmt::format("{:#x}", literal);
}

std::string wait_text(uint16_t immediate) {
  const unsigned vm = (immediate & 15u) | (immediate >> 10 & 0x30u);
  const unsigned exp = immediate >> 4 & 7u, lgkm = immediate >> 8 & 15u;
  const bool is_all = vm == 0 && exp == 0 && lgkm == 0;
  std::string text;
  if (vm != 63 || is_all) text += fmt::format(" vmcnt({})", vm);
  if (exp != 7 || is_all) text += fmt::format(" expcnt({})", exp);
  if (lgkm != 15 || is_all) text += fmt::format(" lgkmcnt({})", lgkm);
  if (text.empty()) return "vmcnt(63) expcnt(7) lgkmcnt(15)";
  return text.substr(1);
}

std::string message_text(uint16_t immediate) {
  switch (immediate & 15) {
    case 1:
      return "sendmsg(MSG_INTERRUPT)";
    case 4:
      return "sendmsg(MSG_SAVEWAVE)";
    case 5:
      return "sendmsg(MSG_STALL_WAVE_GEN)";
    case 6:
      return "sendmsg(MSG_HALT_WAVES)";
    case 9:
      return "sendmsg(MSG_GS_ALLOC_REQ)";
    case 10:
      return "sendmsg(MSG_GET_DOORBELL)";
  }
  return fmt::format("sendmsg({}, {}, {})", immediate & 15, immediate >> 4 & 7, immediate >> 8 & 3);
}

std::string hardware_register_text(uint16_t immediate) {
  constexpr const char* kNames[] = {
      "0",
      "HW_REG_MODE",
      "HW_REG_STATUS",
      "HW_REG_TRAPSTS",
      "HW_REG_HW_ID",
      "HW_REG_GPR_ALLOC",
      "HW_REG_LDS_ALLOC",
      "HW_REG_IB_STS",
      "8",
      "9",
      "10",
      "11",
      "12",
      "13",
      "14",
      "HW_REG_SH_MEM_BASES",
      "HW_REG_TBA_LO",
      "HW_REG_TBA_HI",
      "HW_REG_TMA_LO",
      "HW_REG_TMA_HI",
  };
  const unsigned id = immediate & 63u, offset = immediate >> 6 & 31u,
                 width = (immediate >> 11 & 31u) + 1;
  const std::string name = id < std::size(kNames) ? kNames[id] : fmt::format("{}", id);
  if (offset == 0 && width == 32) return "hwreg(" + name + ")";
  return fmt::format("hwreg({}, {}, {})", name, offset, width);
}

std::string index_mode_text(unsigned bits) {
  constexpr const char* kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  std::string text;
  for (unsigned i = 0; i < std::size(kModes); ++i) {
    if ((bits >> i & 1) != 0) text += (text.empty() ? "" : ",") + std::string(kModes[i]);
  }
  return "gpr_idx(" + text + ")";
}

std::string sopp_text(const Instruction& of) {
  const std::string_view name = of.opcode->name;
  const uint16_t immediate = of.modifiers.immediate;
  if (name == "s_waitcnt") return wait_text(immediate);
  if (name.starts_with("s_sendmsg")) return message_text(immediate);
  if (name == "s_set_gpr_idx_mode") return index_mode_text(immediate);
  constexpr std::string_view kWithout[] = {
      "s_endpgm",     "s_barrier",      "s_wakeup",          "s_icache_inv",
      "s_ttracedata", "s_endpgm_saved", "s_set_gpr_idx_off", "s_endpgm_ordered_ps_done"};
  for (const std::string_view without : kWithout) {
    if (name == without) return immediate == 0 ? "" : fmt::format("{}", immediate);
  }
  return fmt::format("{}", immediate);
}

std::string sopk_text(const Instruction& of) {
  const std::string_view name = of.opcode->name;
  const uint16_t immediate = of.modifiers.immediate;
  const std::string first = operand_text(of.operands[0], of.literal);
  if (name.starts_with("s_setreg")) return hardware_register_text(immediate) + ", " + first;
  if (name == "s_getreg_b32") return first + ", " + hardware_register_text(immediate);
  if (name == "s_call_b64" || name == "s_cbranch_i_fork") {
    return fmt::format("{}, {}", first, immediate);
  }
  return fmt::format("{}, {:#x}", first, immediate);
}

std::string smem_text(const Instruction& of) {
  const Modifiers& mods = of.modifiers;
  std::string text;
  for (size_t i = 0; i < of.operand_count; ++i) {
    text += (i == 0 ? "" : ", ") + operand_text(of.operands[i], of.literal);
  }
  const std::string_view name = of.opcode->name;
  const bool has_address = of.operand_count > 1 || name.starts_with("s_atc_probe") ||
                           name.starts_with("s_dcache_discard");
  if (!has_address) return text;
  if (name.starts_with("s_atc_probe")) text = fmt::format("{}, {}", "0", text);
  const std::string sign = mods.offset < 0 ? "-" : "";
  const std::string offset = fmt::format("{}{:#x}", sign, std::abs(mods.offset));
  if (mods.scalar_offset) {
    text += ", " + scalar_text(*mods.scalar_offset);
    if (mods.has_offset) text += " offset:" + offset;
  } else {
    text += ", " + offset;
  }
  return text + (mods.glc ? " glc" : "");
}

}  // namespace

std::string scalar_text(uint16_t number, uint8_t count) {
  if (number < kFlatScratch) return registers_text('s', number, count);
  if (number < kXnackMask) return pair_text("flat_scratch", number - kFlatScratch, count);
  if (number < kVcc) return pair_text("xnack_mask", number - kXnackMask, count);
  if (number < kTtmp) return pair_text("vcc", number - kVcc, count);
  if (number < kM0) {
    const unsigned first = number - kTtmp;
    if (count == 1) return fmt::format("ttmp{}", first);
    return fmt::format("ttmp[{}:{}]", first, first + count - 1);
  }
  if (number == kM0) return "m0";
  if (number == kExec || number == kExec + 1) return pair_text("exec", number - kExec, count);
  return constant_text(number, false);
}

std::string operand_text(const Operand& operand, uint32_t literal, bool is_double) {
  switch (operand.kind) {
    case Operand::Kind::kVector:
      return registers_text('v', operand.number, operand.count);
    case Operand::Kind::kAccumulator:
      return registers_text('a', operand.number, operand.count);
    case Operand::Kind::kScalar:
      break;
  }
  if (operand.is_literal())
    return is_double ? fmt::format("{:#x}", literal) : literal_text(literal);
  if (operand.number > kExec + 1) return constant_text(operand.number, is_double);
  return scalar_text(operand.number, operand.count);
}

std::string scalar_operands(const Instruction& of) {
  switch (of.opcode->format) {
    case Format::kSopp:
      return sopp_text(of);
    case Format::kSopk:
      return sopk_text(of);
    case Format::kSmem:
      return smem_text(of);
    default:
      break;
  }
  std::string text;
  for (size_t i = 0; i < of.operand_count; ++i) {
    const Operand& operand = of.operands[i];
    const bool is_mode = of.opcode->name == "s_set_gpr_idx_on" && operand.field == Field::kSrc1;
    text += i == 0 ? "" : ", ";
    text += is_mode ? index_mode_text(operand.number & 15u)
                    : operand_text(operand, of.literal, operand.count == 2);
  }
  return text;
}

}  // namespace sonde::gpu
