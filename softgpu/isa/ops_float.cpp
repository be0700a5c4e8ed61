// Arithmetic on 32-bit and 64-bit floating-point numbers.
#include "isa/extremes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

constexpr f64 kTwoPi = 6.283185307179586476925286766559;

f32 rounded(f32 x) { return __builtin_rintf(x); }
f64 rounded(f64 x) { return __builtin_rint(x); }
f32 lower(f32 x) { return __builtin_floorf(x); }
f64 lower(f64 x) { return __builtin_floor(x); }
f32 upper(f32 x) { return __builtin_ceilf(x); }
f64 upper(f64 x) { return __builtin_ceil(x); }
f32 cut(f32 x) { return __builtin_truncf(x); }
f64 cut(f64 x) { return __builtin_trunc(x); }
f32 root(f32 x) { return __builtin_sqrtf(x); }
f64 root(f64 x) { return __builtin_sqrt(x); }

template <class T>
T fraction(T x) {
  constexpr T kLast = sizeof(T) == 4 ? T(0x1.fffffep-1) : T(0x1.fffffffffffffp-1);
  const T made = x - lower(x);
  return made > kLast ? kLast : made;  // infinities have none
}
// Exponent and mantissa in [0.5, 1).
template <class T>
i32 exponent(T x) {
  constexpr int kBits = sizeof(T) == 4 ? 23 : 52, kBias = sizeof(T) == 4 ? 126 : 1022,
                kTop = 2 * kBias + 3;
  const auto field = static_cast<int>(as<Raw<T>>(x) >> kBits) & kTop;
  if (field == kTop || x == 0) return 0;
  if (field == 0) return exponent(x * T(0x1p60)) - 60;
  return field - kBias;
}
template <class T>
T mantissa(T x) {
  constexpr int kBits = sizeof(T) == 4 ? 23 : 52;
  constexpr Raw<T> kHalf = static_cast<Raw<T>>(sizeof(T) == 4 ? 126 : 1022) << kBits;
  constexpr Raw<T> kField = static_cast<Raw<T>>(sizeof(T) == 4 ? 255 : 2047) << kBits;
  if (x == 0 || (as<Raw<T>>(x) & kField) == kField) return x;
  if ((as<Raw<T>>(x) & kField) == 0) x *= T(0x1p60);
  return as<T>((as<Raw<T>>(x) & ~kField) | kHalf);
}

template <class T>
void add_arithmetic(Table& t, const char* of) {
  add(t, "v_add_", of, lanes([](T a, T b) { return a + b; }));
  add(t, "v_sub_", of, lanes([](T a, T b) { return a - b; }));
  add(t, "v_subrev_", of, lanes([](T a, T b) { return b - a; }));
  add(t, "v_mul_", of, lanes([](T a, T b) { return a * b; }));
  add(t, "v_fma_", of, lanes([](T a, T b, T c) { return fused(a, b, c); }));
  add(t, "v_fmac_", of, accumulating([](T a, T b, T c) { return fused(a, b, c); }));
  add(t, "v_min_", of, extreme_of_two<T, Least>);
  add(t, "v_max_", of, extreme_of_two<T, Most>);
  add(t, "v_trunc_", of, lanes([](T a) { return cut(a); }));
  add(t, "v_ceil_", of, lanes([](T a) { return upper(a); }));
  add(t, "v_floor_", of, lanes([](T a) { return lower(a); }));
  add(t, "v_rndne_", of, lanes([](T a) { return rounded(a); }));
  add(t, "v_fract_", of, lanes([](T a) { return fraction(a); }));
  add(t, "v_sqrt_", of, lanes([](T a) { return root(a); }));
  add(t, "v_rcp_", of, lanes([](T a) { return T(1) / a; }));
  add(t, "v_rsq_", of, lanes([](T a) { return static_cast<T>(1 / __builtin_sqrt(f64{a})); }));
  add(t, "v_ldexp_", of, lanes([](T a, i32 b) { return scaled(a, b); }));
  add(t, "v_frexp_exp_i32_", of, lanes([](T a) { return exponent(a); }));
  add(t, "v_frexp_mant_", of, lanes([](T a) { return mantissa(a); }));
}

template <class F>
Handler with_literal(F) {
  return [](Wave& w, const Op& op) {
    const f32 k = as<f32>(op.literal);
    store_computed<f32, f32, f32>(w, op, [k](int, f32 a, f32 b) { return F{}(a, b, k); });
  };
}

void add_single(Table& t) {
  add(t, "v_mad_f32", lanes([](f32 a, f32 b, f32 c) { return a * b + c; }));
  add(t, "v_mac_f32", accumulating([](f32 a, f32 b, f32 c) { return a * b + c; }));
  // Zero times anything is zero.
  add(t, "v_mul_legacy_f32", lanes([](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0F : a * b; }));
  add(t, "v_mad_legacy_f32",
      lanes([](f32 a, f32 b, f32 c) { return (a == 0 || b == 0 ? 0.0F : a * b) + c; }));
  add(t, "v_madmk_f32", with_literal([](f32 a, f32 b, f32 k) { return a * k + b; }));
  add(t, "v_madak_f32", with_literal([](f32 a, f32 b, f32 k) { return a * b + k; }));
  add(t, "v_min3_f32", extreme_of_three<f32, Least>);
  add(t, "v_max3_f32", extreme_of_three<f32, Most>);
  add(t, "v_med3_f32", extreme_of_three<f32, Median>);
}

// Functions that hardware approximates are computed in f64 and rounded once.
void add_functions(Table& t) {
  add(t, "v_rcp_iflag_f32", lanes([](f32 a) { return 1 / a; }));
  add(t, "v_exp_f32", lanes([](f32 a) { return static_cast<f32>(__builtin_exp2(f64{a})); }));
  add(t, "v_log_f32", lanes([](f32 a) { return static_cast<f32>(__builtin_log2(f64{a})); }));
  add(t, "v_exp_legacy_f32", lanes([](f32 a) { return static_cast<f32>(__builtin_exp2(f64{a})); }));
  add(t, "v_log_legacy_f32", lanes([](f32 a) { return static_cast<f32>(__builtin_log2(f64{a})); }));
  // The argument is in revolutions.
  add(t, "v_sin_f32", lanes([](f32 a) {
        return static_cast<f32>(__builtin_sin((f64{a} - __builtin_floor(f64{a})) * kTwoPi));
      }));
  add(t, "v_cos_f32", lanes([](f32 a) {
        return static_cast<f32>(__builtin_cos((f64{a} - __builtin_floor(f64{a})) * kTwoPi));
      }));
}

}  // namespace

void add_float(Table& table) {
  add_arithmetic<f32>(table, "f32");
  add_arithmetic<f64>(table, "f64");
  add_single(table);
  add_functions(table);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
