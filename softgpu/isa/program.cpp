#include "isa/program.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "isa/coverage.h"
#include "isa/modifiers.h"

namespace softgpu::isa {
namespace {

using sonde::gpu::Field;
using sonde::gpu::Format;
using sonde::gpu::Instruction;
using sonde::gpu::Operand;

void stop_at_unknown(Wave& wave, const Op& op) {
  wave.pc = op.address;
  wave.stop = Stop::kUnknownInstruction;
}

// A local-memory instruction on the global data share. KFD gives processes no part of it, so every
// access is out of bounds.
void run_without_memory(Wave& wave, const Op& op) {
  GroupState* const group = wave.group;
  GroupState without = *group;
  without.lds_bytes = 0;
  wave.group = &without;
  find_handler(op.opcode->name)(wave, op);
  wave.group = group;
}

uint16_t number_of(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::kVector:
      return static_cast<uint16_t>(operand.number + kFirstVgpr);
    case Operand::Kind::kAccumulator:
      return static_cast<uint16_t>(operand.number + kFirstAccumulator);
    case Operand::Kind::kScalar:
      break;
  }
  return operand.number;
}

void place_operand(Op& op, const Operand& operand, bool is_result) {
  const uint16_t number = number_of(operand);
  switch (operand.field) {
    case Field::kVdst:
      op.dst = number >= kFirstVgpr ? static_cast<uint16_t>(number - kFirstVgpr) : number;
      if (number < kFirstVgpr) op.sdst = number;
      break;
    case Field::kSrc0:
    case Field::kSrc1:
    case Field::kSrc2:
      op.src[static_cast<int>(operand.field) - static_cast<int>(Field::kSrc0)] = number;
      break;
    case Field::kSdst:
      op.sdst = number;
      break;
    case Field::kVcc:  // a result comes first, a source last
      (is_result ? op.sdst : op.src[2]) = number;
      break;
    case Field::kM0:
    case Field::kExec:
    case Field::kLiteral:
      break;
  }
}

FloatKind float_kind(std::string_view name) {
  // Instructions that round to integers have the rounding mode in their name.
  const bool computes = name.starts_with("v_") && !name.starts_with("v_rndne_");
  if (!computes) return FloatKind::kNone;
  if (name.find("_f64") != name.npos || name.find("_f16") != name.npos)
    return FloatKind::kDoubleOrHalf;
  return name.find("_f32") != name.npos ? FloatKind::kSingle : FloatKind::kNone;
}

bool is_plain(const sonde::gpu::Modifiers& mods, sonde::gpu::Encoding encoding) {
  if (encoding != sonde::gpu::Encoding::kPlain) return false;
  return mods.neg == 0 && mods.abs == 0 && mods.omod == 0 && !mods.clamp && mods.op_sel == 0;
}

Op op_of(const Instruction& instruction) {
  Op op{.sdst = sonde::gpu::kVcc,
        .words = instruction.words,
        .encoding = instruction.encoding,
        .literal = instruction.literal,
        .mods = instruction.modifiers,
        .opcode = instruction.opcode};
  bool has_source = false;
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    place_operand(op, operand, !has_source);
    // A second result is encoded where other instructions have these.
    if (operand.field == Field::kSdst && op.opcode->format == Format::kVop3)
      op.mods.abs = op.mods.op_sel = 0;
    has_source |= operand.field >= Field::kSrc0 && operand.field <= Field::kSrc2;
  }
  op.is_plain = is_plain(op.mods, op.encoding);
  op.float_kind = float_kind(op.opcode->name);
  if (op.mods.lds) {
    op.run = find_handler("lds " + std::string(op.opcode->name));
  } else {
    op.run = find_handler(op.opcode->name);
    const bool has_memory = !op.opcode->name.starts_with("ds_gws_");
    if (op.mods.gds && op.run != nullptr && has_memory) op.run = run_without_memory;
  }
  if (!honours_modifiers(op)) op.run = nullptr;
  return op;
}

}  // namespace

Program::Program(sonde::gpu::Architecture architecture, uint64_t begin, uint64_t bytes,
                 Coverage* coverage)
    : architecture_(architecture),
      begin_(begin),
      bytes_(bytes & ~uint64_t{3}),
      slots_(new std::atomic<const Op*>[bytes_ / 4]()),
      coverage_(coverage) {}

const Op* Program::decode(uint64_t pc) {
  const uint64_t place = pc - begin_;
  std::lock_guard lock(mutex_);
  if (const Op* op = slots_[place / 4].load(std::memory_order_relaxed)) return op;
  uint32_t words[3] = {};
  const size_t count = std::min<uint64_t>(3, (bytes_ - place) / 4);
  std::memcpy(words, reinterpret_cast<const void*>(pc), count * 4);
  const auto instruction = sonde::gpu::decode(architecture_, {words, count});
  Op& op = ops_.emplace_back(instruction ? op_of(*instruction) : Op{});
  std::memcpy(op.raw, words, sizeof(words));
  op.address = pc;
  if (op.run == nullptr) {
    op.run = stop_at_unknown;
  } else if (coverage_ != nullptr) {
    coverage_->add(architecture_, op);  // decoded means that a wave is about to run it
  }
  slots_[place / 4].store(&op, std::memory_order_release);
  return &op;
}

const Op* Program::before(uint64_t pc) const {
  for (uint64_t words = 1; words <= 2; ++words) {
    const uint64_t place = pc - words * 4 - begin_;
    if (place >= bytes_ || place % 4 != 0) continue;
    const Op* op = slots_[place / 4].load(std::memory_order_acquire);
    if (op != nullptr && op->words == words) return op;
  }
  return nullptr;
}

bool Program::is_current() const {
  std::lock_guard lock(mutex_);
  for (const Op& op : ops_) {
    if (std::memcmp(reinterpret_cast<const void*>(op.address), op.raw, op.words * 4U) != 0)
      return false;
  }
  return true;
}

std::string name_of(const Op& op) {
  if (op.opcode != nullptr) return std::string(op.opcode->name);
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", op.raw[0]);
  return text;
}

}  // namespace softgpu::isa
