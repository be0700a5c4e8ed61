#include "isa/modifiers.h"

#include <string_view>

namespace softgpu::isa {
namespace {

using sonde::gpu::Format;

template <size_t count>
bool starts_with_one(std::string_view name, const std::string_view (&prefixes)[count]) {
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

bool gives_float(std::string_view name) {
  if (name.starts_with("v_cvt_")) {
    constexpr std::string_view kFloats[] = {"v_cvt_f16", "v_cvt_f32", "v_cvt_f64", "v_cvt_off_f32"};
    return starts_with_one(name, kFloats);
  }
  if (name.starts_with("v_frexp_exp_") || name == "v_pack_b32_f16") return false;
  for (const std::string_view type : {"_f16", "_f32", "_f64"}) {
    if (name.find(type) != name.npos) return true;
  }
  return false;
}

// Sums and the like, which clamp saturates to the range of their result.
bool saturates(std::string_view name) {
  constexpr std::string_view kSums[] = {
      "v_add_",    "v_addc_",   "v_sub",   "v_mad_",    "v_sad_",   "v_msad_",
      "v_mqsad_",  "v_qsad_",   "v_dot",   "v_pk_add_", "v_pk_sub", "v_pk_mad_",
      "v_pk_max_", "v_pk_min_", "v_max3_", "v_min3_",   "v_med3_"};
  return starts_with_one(name, kSums);
}

}  // namespace

bool honours_modifiers(const Op& op) {
  const std::string_view name = op.opcode->name;
  const bool is_packed = op.opcode->format == Format::kVop3p, is_float = gives_float(name);
  // In a comparison, clamp concerns exceptions.
  if (op.mods.clamp && !is_float && !saturates(name) && !name.starts_with("v_cmp")) return false;
  if (op.mods.omod != 0 && !is_float) return false;
  if (!is_packed) return true;
  if ((op.mods.neg != 0 || op.mods.neg_hi != 0) && !is_float) return false;
  const bool has_no_halves = name.starts_with("v_dot4") || name.starts_with("v_dot8");
  return op.mods.op_sel == 0 || !has_no_halves;
}

}  // namespace softgpu::isa
