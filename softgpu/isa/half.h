// Operations on halves, shared by scalar and packed instructions.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

// a * b + c as f32, with the last bit set if the exact sum has more bits: rounding it to f16 gives
// the same as rounding the exact sum. The product of two halves is exact. If the f64 sum is not
// exact, it is above 2^5, because both terms have no bits below 2^-48, and so too far from a
// rounding boundary of f16 to matter.
[[gnu::always_inline]] inline f32 odd_sum(f64 product, f64 c) {
  const f64 sum = product + c;
  const f32 near = static_cast<f32>(sum);
  const f64 lost = sum - f64{near};
  const u32 bits = as<u32>(near);
  const bool is_even_by_rounding = (lost > 0 || lost < 0) && (bits & 1) == 0;
  const u32 odd = (lost > 0) == (near > 0) ? bits + 1 : bits - 1;
  return as<f32>(is_even_by_rounding ? odd : bits);
}
[[gnu::always_inline]] inline Half half_fused(f32 a, f32 b, f32 c) {
  return Half(odd_sum(f64{a} * f64{b}, f64{c}));
}

// Whether MODE flushes denormal halves, which the host's own conversion does not do.
inline bool flushes_halves(const Wave& w) { return (w.mode >> 6 & 3) != 3; }

// Widens one half of each of 64 words (shift 0, or 16 for the upper halves), with its sign flipped
// if requested.
[[gnu::always_inline]] inline void widen(const Wave& w, const u32* words, int shift, u16 flip,
                                         f32* to) {
  alignas(64) u16 halves[kLanes];
  for (int l = 0; l < kLanes; l++) halves[l] = static_cast<u16>(words[l] >> shift ^ flip);
#ifdef __F16C__
  if (!flushes_halves(w)) {
    for (int l = 0; l < kLanes; l += 8)
      _mm256_store_ps(to + l,
                      _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<__m128i*>(halves + l))));
    return;
  }
#endif
  (void)w;
  for (int l = 0; l < kLanes; l++) to[l] = Half(halves[l]);
}
[[gnu::always_inline]] inline void narrow(const Wave& w, const f32* from, u16* to) {
#ifdef __F16C__
  if (!flushes_halves(w)) {
    for (int l = 0; l < kLanes; l += 8)
      _mm_store_si128(reinterpret_cast<__m128i*>(to + l),
                      _mm256_cvtps_ph(_mm256_load_ps(from + l), _MM_FROUND_CUR_DIRECTION));
    return;
  }
#endif
  (void)w;
  for (int l = 0; l < kLanes; l++) to[l] = Half(from[l]).bits;
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
