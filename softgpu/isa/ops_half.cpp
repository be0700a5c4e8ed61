// Arithmetic on 16-bit floating-point numbers. Results computed as f32 and rounded to f16 are
// correctly rounded; an inexact fused sum is rounded to odd first, which makes double rounding
// safe.
#include "isa/extremes.h"
#include "isa/half.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

constexpr f64 kTwoPi = 6.283185307179586476925286766559;

f64 turns(f32 x) { return (f64{x} - __builtin_floor(f64{x})) * kTwoPi; }
i32 exponent(f32 x) {  // of a half as f32, so never denormal
  const i32 field = static_cast<i32>(as<u32>(x) >> 23 & 255);
  return x == 0 || field == 255 ? 0 : field - 126;
}
f32 mantissa(f32 x) {
  const u32 field = as<u32>(x) >> 23 & 255;
  return x == 0 || field == 255 ? x : as<f32>((as<u32>(x) & 0x807fffff) | 126U << 23);
}
f32 fraction(f32 x) {
  const f32 made = x - __builtin_floorf(x), last = 0x1.ffcp-1F;
  return made > last ? last : made;
}

template <bool literal_is_factor>
void with_literal(Wave& w, const Op& op) {  // v_madmk, v_madak
  const f32 k = Half(static_cast<u16>(op.literal));
  const auto sum = [k](int, Half a, Half b) {
    return literal_is_factor ? Half(f32(Half(a * k)) + b) : Half(f32(Half(a * b)) + k);
  };
  store_computed<Half, Half, Half>(w, op, sum, HighHalf::kKept);
}

void add_functions(Table& t) {
  add(t, "v_rcp_f16", lanes([](Half a) { return Half(1 / f32(a)); }));
  add(t, "v_sqrt_f16", lanes([](Half a) { return Half(__builtin_sqrtf(a)); }));
  add(t, "v_rsq_f16",
      lanes([](Half a) { return Half(static_cast<f32>(1 / __builtin_sqrt(f64{f32(a)}))); }));
  add(t, "v_log_f16",
      lanes([](Half a) { return Half(static_cast<f32>(__builtin_log2(f64{f32(a)}))); }));
  add(t, "v_exp_f16",
      lanes([](Half a) { return Half(static_cast<f32>(__builtin_exp2(f64{f32(a)}))); }));
  add(t, "v_sin_f16",
      lanes([](Half a) { return Half(static_cast<f32>(__builtin_sin(turns(a)))); }));
  add(t, "v_cos_f16",
      lanes([](Half a) { return Half(static_cast<f32>(__builtin_cos(turns(a)))); }));
  add(t, "v_floor_f16", lanes([](Half a) { return Half(__builtin_floorf(a)); }));
  add(t, "v_ceil_f16", lanes([](Half a) { return Half(__builtin_ceilf(a)); }));
  add(t, "v_trunc_f16", lanes([](Half a) { return Half(__builtin_truncf(a)); }));
  add(t, "v_rndne_f16", lanes([](Half a) { return Half(__builtin_rintf(a)); }));
  add(t, "v_fract_f16", lanes([](Half a) { return Half(fraction(a)); }));
  add(t, "v_frexp_mant_f16", lanes([](Half a) { return Half(mantissa(a)); }));
  add(t, "v_frexp_exp_i16_f16", lanes([](Half a) { return static_cast<i16>(exponent(a)); }));
  add(t, "v_ldexp_f16",
      lanes([](Half a, i16 b) { return Half(static_cast<f32>(__builtin_ldexp(f64{f32(a)}, b))); }));
}

}  // namespace

void add_half(Table& t) {
  constexpr auto kKept = HighHalf::kKept;
  add(t, "v_add_f16", lanes([](Half a, Half b) { return Half(a + b); }));
  add(t, "v_sub_f16", lanes([](Half a, Half b) { return Half(a - b); }));
  add(t, "v_subrev_f16", lanes([](Half a, Half b) { return Half(b - a); }));
  add(t, "v_mul_f16", lanes([](Half a, Half b) { return Half(a * b); }));
  add(t, "v_min_f16", extreme_of_two<Half, Least>);
  add(t, "v_max_f16", extreme_of_two<Half, Most>);
  add(t, "v_mac_f16",
      accumulating<kKept>([](Half a, Half b, Half c) { return Half(f32(Half(a * b)) + c); }));
  add(t, "v_mad_f16",
      lanes<kKept>([](Half a, Half b, Half c) { return Half(f32(Half(a * b)) + c); }));
  add(t, "v_mad_legacy_f16",
      lanes([](Half a, Half b, Half c) { return Half(f32(Half(a * b)) + c); }));
  add(t, "v_madmk_f16", with_literal<true>);
  add(t, "v_madak_f16", with_literal<false>);
  add(t, "v_fma_f16", lanes<kKept>([](Half a, Half b, Half c) { return half_fused(a, b, c); }));
  add(t, "v_fma_legacy_f16", lanes([](Half a, Half b, Half c) { return half_fused(a, b, c); }));
  add(t, "v_min3_f16", extreme_of_three<Half, Least, kKept>);
  add(t, "v_max3_f16", extreme_of_three<Half, Most, kKept>);
  add(t, "v_med3_f16", extreme_of_three<Half, Median, kKept>);
  add_functions(t);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
