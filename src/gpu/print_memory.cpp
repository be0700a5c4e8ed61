// Instructions that read and write memory: LDS, flat, global, scratch, buffers.
#include <fmt/format.h>

#include "gpu/print_parts.h"

namespace sonde::gpu {
namespace {

std::string policy_text(const Modifiers& mods) {
  return std::string(mods.glc ? " glc" : "") + (mods.slc ? " slc" : "") + (mods.scc ? " scc" : "");
}

std::string offset_text(int32_t offset) {
  return offset == 0 ? "" : fmt::format(" offset:{}", offset);
}

void append(std::string& text, const std::string& operand) {
  text += (text.empty() ? "" : ", ") + operand;
}

std::string operands_text(const Instruction& of) {
  std::string text;
  for (size_t i = 0; i < of.operand_count; ++i) append(text, operand_text(of.operands[i], 0));
  return text;
}

// ds_swizzle patterns by name, as an assembler accepts them.
std::string swizzle_text(unsigned offset) {
  if ((offset & 0x8000) != 0) {
    return fmt::format(" offset:swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3,
                       offset >> 4 & 3, offset >> 6 & 3);
  }
  const unsigned keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
  const auto is_power = [](unsigned value) { return value != 0 && (value & (value - 1)) == 0; };
  if (keep == 31 && set == 0 && is_power(flip)) {
    return fmt::format(" offset:swizzle(SWAP,{})", flip);
  }
  if (keep == 31 && set == 0 && flip != 0 && is_power(flip + 1)) {
    return fmt::format(" offset:swizzle(REVERSE,{})", flip + 1);
  }
  const unsigned group = 32 - keep;
  if (group > 1 && is_power(group) && flip == 0 && set < group) {
    return fmt::format(" offset:swizzle(BROADCAST,{},{})", group, set);
  }
  std::string mask;  // one character per bit of the lane: 0, 1, p(reserved) or i(nverted)
  for (unsigned bit = 5; bit-- > 0;) {
    const unsigned zero = ((set ^ flip) >> bit) & 1;
    const unsigned one = (((keep | set) ^ flip) >> bit) & 1;
    mask += zero == one ? (zero != 0 ? '1' : '0') : (one != 0 ? 'p' : 'i');
  }
  return fmt::format(" offset:swizzle(BITMASK_PERM,\"{}\")", mask);
}

std::string ds_text(const Instruction& of) {
  const std::string_view name = of.opcode->name;
  const Modifiers& mods = of.modifiers;
  std::string text = operands_text(of);
  const bool has_two = name.find("read2") != name.npos || name.find("write2") != name.npos ||
                       name.find("wrxchg2") != name.npos;
  if (name == "ds_swizzle_b32") {
    if (mods.offset != 0) text += swizzle_text(static_cast<unsigned>(mods.offset));
  } else if (has_two) {
    if ((mods.offset & 255) != 0) text += fmt::format(" offset0:{}", mods.offset & 255);
    if (mods.offset >> 8 != 0) text += fmt::format(" offset1:{}", mods.offset >> 8);
  } else {
    text += offset_text(mods.offset);
  }
  return text + (mods.gds ? " gds" : "");
}

std::string flat_text(const Instruction& of) {
  const Modifiers& mods = of.modifiers;
  const Format format = of.opcode->format;
  std::string text;
  std::string base;
  if (format != Format::kFlat) {
    base = mods.scalar_base ? scalar_text(*mods.scalar_base, format == Format::kGlobal ? 2 : 1)
                            : "off";
  }
  for (size_t i = 0; i < of.operand_count; ++i) {
    Operand operand = of.operands[i];
    if (operand.field != Field::kSrc0) {
      append(text, operand_text(operand, 0));
      continue;
    }
    // With a scalar base, the vector address is a single register: an offset.
    if (mods.scalar_base && format == Format::kGlobal) operand.count = 1;
    append(text, mods.has_vaddr ? operand_text(operand, 0) : "off");
  }
  if (!base.empty()) append(text, base);
  return text + offset_text(mods.offset) + policy_text(mods) + (mods.lds ? " lds" : "");
}

std::string format_text(const Modifiers& mods) {
  constexpr const char* kData[] = {"INVALID",     "8",          "16",          "8_8",
                                   "32",          "16_16",      "10_11_11",    "11_11_10",
                                   "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                   "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
  constexpr const char* kNumbers[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                      "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  std::string text;
  if (mods.dfmt != 1) text += fmt::format("BUF_DATA_FORMAT_{}", kData[mods.dfmt & 15]);
  if (mods.nfmt != 0) {
    text += fmt::format("{}BUF_NUM_FORMAT_{}", text.empty() ? "" : ",", kNumbers[mods.nfmt & 7]);
  }
  return text.empty() ? "" : " format:[" + text + "]";
}

std::string buffer_text(const Instruction& of) {
  const Modifiers& mods = of.modifiers;
  if (of.operand_count == 0) return policy_text(mods).empty() ? "" : policy_text(mods).substr(1);
  std::string text;
  for (size_t i = 0; i < of.operand_count; ++i) {
    if (of.operands[i].field == Field::kVdst && mods.lds) continue;
    if (of.operands[i].field == Field::kSrc0) {
      Operand address;
      address.kind = Operand::Kind::kVector;
      address.number = mods.vaddr;
      address.count = mods.offen && mods.idxen ? 2 : 1;
      append(text, mods.has_vaddr ? operand_text(address, 0) : "off");
    }
    append(text, operand_text(of.operands[i], 0));
  }
  append(text, scalar_text(mods.scalar_offset.value_or(0)));
  if (of.opcode->format == Format::kMtbuf) text += format_text(mods);
  text += std::string(mods.idxen ? " idxen" : "") + (mods.offen ? " offen" : "");
  return text + offset_text(mods.offset) + policy_text(mods) + (mods.lds ? " lds" : "");
}

}  // namespace

std::string memory_operands(const Instruction& of) {
  switch (of.opcode->format) {
    case Format::kDs:
      return ds_text(of);
    case Format::kMubuf:
    case Format::kMtbuf:
      return buffer_text(of);
    default:
      return flat_text(of);
  }
}

}  // namespace sonde::gpu
