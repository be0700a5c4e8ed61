// Operations on halves that scalar and packed instructions share.
#pragma once

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

// A number wins against NaN, and -0 is less than 0.
[[gnu::always_inline]] inline f32 half_least(f32 a, f32 b) {
  const f32 same = as<f32>(as<u32>(a) | as<u32>(b)), made = a < b ? a : b < a ? b : same;
  return a != a ? b : b != b ? a : made;
}
[[gnu::always_inline]] inline f32 half_most(f32 a, f32 b) {
  const f32 same = as<f32>(as<u32>(a) & as<u32>(b)), made = a > b ? a : b > a ? b : same;
  return a != a ? b : b != b ? a : made;
}

// a * b + c as f32, of which the last bit is set where the exact sum has more bits: rounded to f16
// it is what the exact sum rounds to. The product of two halves is exact.
[[gnu::always_inline]] inline f32 odd_sum(f64 product, f64 c) {
  const f64 sum = product + c, back = sum - product;
  const f64 lost = (product - (sum - back)) + (c - back);
  u64 bits = as<u64>(sum);
  const bool is_towards_zero = (lost > 0) == (sum > 0);
  if (lost != 0 && !is_towards_zero) bits -= 1;  // the number below, whose rest is then not zero
  constexpr u64 kCut = (u64{1} << 29) - 1;
  const bool has_rest = lost == lost && (lost != 0 || (bits & kCut) != 0);
  const bool is_finite = sum - sum == 0;
  if (!is_finite) return static_cast<f32>(sum);
  return static_cast<f32>(as<f64>((bits & ~kCut) | u64{has_rest} << 29));
}
[[gnu::always_inline]] inline Half half_fused(f32 a, f32 b, f32 c) {
  return Half(odd_sum(f64{a} * f64{b}, f64{c}));
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
