#include "fault/violation.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "fault/waves.h"

namespace sonde::fault {

namespace {

using gpu::Format;

// Where ROCr has the driver place LDS and private memory in the flat address space; the software
// GPU does the same.
constexpr uint64_t kLdsAperture = 0x10000, kPrivateAperture = 0x20000;
constexpr unsigned kLanes = 64;

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

// "global_atomic_add", "ds_add_rtn_u32"; for LDS everything that does not load, store or exchange
// lanes.
bool is_atomic(const gpu::Instruction& instruction) {
  const std::string_view name = instruction.opcode->name;
  if (instruction.opcode->format != Format::kDs) return has(name, "atomic");
  for (const char* operation : {"_add_", "_sub_", "_rsub_", "_inc_", "_dec_", "_min_", "_max_",
                                "_and_", "_or_", "_xor_", "_mskor_", "_cmpst_", "_wrxchg_"}) {
    if (has(name, operation)) return true;
  }
  return false;
}

// Size of one lane's access: "global_atomic_add_x2", "ds_read_b64", "buffer_store_dwordx4",
// "flat_load_ushort".
uint32_t access_bytes(std::string_view name) {
  struct Size {
    const char* part;
    uint32_t bytes;
  };
  constexpr Size kSizes[] = {{"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4},
                             {"short", 2},    {"byte", 1},     {"b128", 16},   {"b96", 12},
                             {"_x2", 8},      {"b64", 8},      {"u64", 8},     {"i64", 8},
                             {"f64", 8},      {"b16", 2},      {"u16", 2},     {"i16", 2},
                             {"_b8", 1},      {"_u8", 1},      {"_i8", 1}};
  for (const Size& size : kSizes) {
    if (has(name, size.part)) return size.bytes;
  }
  return 4;
}

// An access of one lane, as far as the instruction and the registers show.
class Access {
 public:
  Access(const gpu::Instruction& instruction, const WaveRegisters& registers)
      : instruction_(instruction), registers_(registers) {
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      const gpu::Operand& operand = instruction.operands[i];
      const bool is_vector = operand.kind == gpu::Operand::Kind::kVector;
      if (operand.field == gpu::Field::kSrc0 && is_vector) row_ = operand.number;
    }
    bytes_ = access_bytes(instruction.opcode->name);
  }
  uint32_t bytes() const { return bytes_; }
  Format format() const { return instruction_.opcode->format; }

  uint64_t address(unsigned lane) const {
    const auto& how = instruction_.modifiers;
    const auto offset = static_cast<uint64_t>(int64_t{how.offset});
    if (format() == Format::kMubuf) return offset + buffer_offset(lane);
    if (format() == Format::kDs) return static_cast<uint32_t>(vector(lane, 0) + offset);
    if (format() == Format::kScratch) {
      const uint32_t base = how.scalar_base ? scalar(*how.scalar_base) : vector(lane, 0);
      return static_cast<uint32_t>(base + offset);
    }
    if (!how.scalar_base) return offset + (vector(lane, 0) | uint64_t{vector(lane, 1)} << 32);
    return offset + vector(lane, 0) +
           (scalar(*how.scalar_base) | uint64_t{scalar(*how.scalar_base + 1U)} << 32);
  }

 private:
  // Private memory interleaves the dwords of 64 lanes, so a wave's offset is 64 times a lane's.
  uint32_t buffer_offset(unsigned lane) const {
    const auto& how = instruction_.modifiers;
    uint32_t offset = how.scalar_offset ? scalar(*how.scalar_offset) / kLanes : 0;
    const unsigned row = how.vaddr + (how.idxen ? 1U : 0U);
    if (how.offen) offset += wave_vector(registers_, row, lane);
    return offset;
  }
  uint32_t vector(unsigned lane, unsigned next) const {
    return wave_vector(registers_, row_ + next, lane);
  }
  uint32_t scalar(unsigned number) const { return wave_scalar(registers_, number); }

  const gpu::Instruction& instruction_;
  const WaveRegisters& registers_;
  unsigned row_ = 0;
  uint32_t bytes_ = 0;
};

std::optional<Violation> violation_of(const Access& access, bool needs_whole, unsigned lane,
                                      uint64_t lds_bytes, uint32_t private_bytes) {
  using Kind = Violation::Kind;
  const uint64_t address = access.address(lane);
  const uint64_t aperture = address >> 32;
  const bool is_flat = access.format() == Format::kFlat;
  const bool is_global = access.format() == Format::kGlobal;
  const bool is_lds = access.format() == Format::kDs || (is_flat && aperture == kLdsAperture);
  const bool is_private = access.format() == Format::kScratch ||
                          access.format() == Format::kMubuf ||
                          (is_flat && aperture == kPrivateAperture);
  const uint64_t within = is_flat && (is_lds || is_private) ? address & 0xffffffff : address;
  if (needs_whole && (is_flat || is_global || is_lds) && address % access.bytes() != 0) {
    return Violation{Kind::kMisaligned, lane, is_lds ? within : address, access.bytes(),
                     is_lds ? lds_bytes : 0};
  }
  if (is_lds && within + access.bytes() > lds_bytes) {
    return Violation{Kind::kOutsideLds, lane, within, access.bytes(), lds_bytes};
  }
  if (is_private && within + access.bytes() > private_bytes) {
    return Violation{Kind::kOutsidePrivate, lane, within, access.bytes(), private_bytes};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> find_violation(const Wave& wave, uint32_t private_bytes,
                                        CodeObjects& code) {
  const auto architecture = code.architecture_at(wave.pc);
  const auto words = code.words_at(wave.pc, 3);
  if (!architecture || words.empty()) return std::nullopt;
  const auto instruction = gpu::decode(*architecture, words);
  if (!instruction) return std::nullopt;
  const WaveRegisters registers = registers_of(wave);
  const Access access(*instruction, registers);
  const bool needs_whole = is_atomic(*instruction);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((wave.exec >> lane & 1) == 0) continue;
    const auto found = violation_of(access, needs_whole, lane, registers.lds.size(), private_bytes);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Violation> first_violation(const std::vector<WaveGroup>& waves,
                                         uint32_t private_bytes, CodeObjects& code) {
  for (const WaveGroup& group : waves) {
    if (group.why != "aperture_violation") continue;
    for (const Wave& wave : group.waves) {
      if (const auto found = find_violation(wave, private_bytes, code)) return found;
    }
  }
  return std::nullopt;
}

std::string violation_text(const Violation& violation) {
  using Kind = Violation::Kind;
  if (violation.kind == Kind::kMisaligned) {
    const std::string where = violation.room != 0
                                  ? fmt::format("offset {} of {} bytes of LDS", violation.address,
                                                format_count(violation.room))
                                  : fmt::format("{:#x}", violation.address);
    return fmt::format("lane {} uses {} bytes at {}, which is not a multiple of {}", violation.lane,
                       violation.bytes, where, violation.bytes);
  }
  return fmt::format(
      "lane {} uses {} at offset {} of {} bytes of {}", violation.lane,
      violation.bytes == 1 ? std::string("1 byte") : fmt::format("{} bytes", violation.bytes),
      format_count(violation.address), format_count(violation.room),
      violation.kind == Kind::kOutsideLds ? "LDS" : "private memory");
}

}  // namespace sonde::fault
