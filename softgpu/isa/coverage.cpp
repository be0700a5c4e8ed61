#include "isa/coverage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace softgpu::isa {
namespace {

using sonde::gpu::Encoding;
using sonde::gpu::Format;

constexpr const char* kModifiers[] = {"plain", "e64",  "sdwa",   "dpp",    "sign",
                                      "clamp", "omod", "op_sel", "literal"};
enum Modifier : uint32_t { kPlain, kE64, kSdwa, kDpp, kSign, kClamp, kOmod, kOpSel, kLiteral };

bool takes_literal(const Op& op) {
  for (const uint16_t source : op.src) {
    if (source == sonde::gpu::kLiteral) return true;
  }
  return false;
}

uint32_t modifiers_of(const Op& op) {
  const sonde::gpu::Modifiers& mods = op.mods;
  const Format format = op.opcode->format;
  const bool is_packed = format == Format::kVop3p;
  uint32_t bits = 0;
  const auto set = [&](Modifier modifier, bool is_there) {
    bits |= uint32_t{is_there} << modifier;
  };
  set(kE64, format == Format::kVop3 && op.opcode->has_suffix);
  set(kSdwa, op.encoding == Encoding::kSdwa);
  set(kDpp, op.encoding == Encoding::kDpp);
  set(kSign, mods.neg != 0 || mods.abs != 0 || mods.neg_hi != 0);
  set(kClamp, mods.clamp);
  set(kOmod, mods.omod != 0);
  set(kOpSel, mods.op_sel != 0 || (is_packed && mods.op_sel_hi != 0 && mods.op_sel_hi != 7));
  set(kLiteral, takes_literal(op));
  return bits != 0 ? bits : 1U << kPlain;
}

}  // namespace

Coverage::Coverage(const std::string& path) {
  if (!file_.open(path))
    std::fprintf(stderr, "softgpu: cannot write the coverage file %s: %m\n", path.c_str());
}

std::unique_ptr<Coverage> Coverage::of_environment() {
  const char* path = std::getenv("SOFTGPU_COVERAGE");
  return path != nullptr && *path != 0 ? std::make_unique<Coverage>(path) : nullptr;
}

void Coverage::add(sonde::gpu::Architecture architecture, const Op& op) {
  constexpr const char* kNames[] = {"gfx906", "gfx908", "gfx90a"};
  std::string lines;
  {
    std::lock_guard lock(mutex_);
    uint32_t& seen = seen_[op.opcode];
    const uint32_t found = modifiers_of(op) & ~seen;
    seen |= found;
    for (uint32_t n = 0; n < std::size(kModifiers); ++n) {
      if ((found >> n & 1) == 0) continue;
      lines += kNames[static_cast<int>(architecture)];
      ((lines += ' ') += op.opcode->name) += ' ';
      (lines += kModifiers[n]) += '\n';
    }
  }
  if (!lines.empty()) file_.write(lines);
}

}  // namespace softgpu::isa
