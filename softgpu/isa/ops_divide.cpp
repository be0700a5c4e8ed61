// The steps of division, and of the argument reduction of sine and cosine.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

template <class T>
struct Format;
template <>
struct Format<f32> {
  static constexpr int kBits = 23, kTop = 255, kBias = 127, kScale = 64, kFar = 96, kTiny = 23,
                       kVanishes = -150;
  static constexpr f64 kSmallest = 0x1p-126;
};
template <>
struct Format<f64> {
  static constexpr int kBits = 52, kTop = 2047, kBias = 1023, kScale = 128, kFar = 768, kTiny = 53,
                       kVanishes = -1075;
  static constexpr f64 kSmallest = 0x1p-1022;
};

template <class T>
int field_of(T x) {
  return static_cast<int>(as<Raw<T>>(x) >> Format<T>::kBits) & Format<T>::kTop;
}
template <class T>
bool is_denormal(T x) {
  return x != 0 && field_of(x) == 0;
}
bool is_below_normal(f64 x, f64 smallest) { return x != 0 && __builtin_fabs(x) < smallest; }

// Scales numerator or denominator (a is one of the two) so that no intermediate result leaves the
// range of normal numbers; the flag tells div_fmas to scale the quotient back.
template <class T>
T scale(T a, T d, T n, bool& flag) {
  using Of = Format<T>;
  const f64 quotient = static_cast<f64>(n) / static_cast<f64>(d), inverse = 1 / static_cast<f64>(d);
  const bool small_inverse = is_below_normal(inverse, Of::kSmallest);
  flag = false;
  if (n == 0 || d == 0) return static_cast<T>(__builtin_nan(""));
  if (field_of(n) - field_of(d) >= Of::kFar) {
    flag = true;
    return a == d ? scaled(a, Of::kScale) : a;
  }
  if (is_denormal(d)) return scaled(a, Of::kScale);
  if (is_below_normal(quotient, Of::kSmallest)) {
    flag = true;
    if (small_inverse) return a == d ? scaled(a, -Of::kScale) : a;
    return a == n ? scaled(a, Of::kScale) : a;
  }
  if (small_inverse) return scaled(a, -Of::kScale);
  return field_of(n) <= Of::kTiny ? scaled(a, Of::kScale) : a;
}

template <class T>
void div_scale(Wave& w, const Op& op) {
  u64 flags = 0;
  const u64 mask = store_computed<T, T, T, T>(w, op, [&](int lane, T a, T d, T n) {
    bool flag = false;
    const T made = scale(a, d, n, flag);
    flags |= u64{flag} << lane;
    return made;
  });
  w.set64(op.sdst, flags & mask);
}

// The sum is scaled before it is rounded, if the host has a wider type for that.
f32 fused_scaled(f32 a, f32 b, f32 c, int by) {
  return static_cast<f32>(__builtin_ldexp(__builtin_fma(f64{a}, f64{b}, f64{c}), by));
}
f64 fused_scaled(f64 a, f64 b, f64 c, int by) {
  return __builtin_ldexp(__builtin_fma(a, b, c), by);
}

template <class T>
void div_fmas(Wave& w, const Op& op) {
  const u64 flags = w.vcc();
  store_computed<T, T, T, T>(w, op, [flags](int lane, T a, T b, T c) {
    const int by = field_of(c) > Format<T>::kBias ? Format<T>::kScale : -Format<T>::kScale;
    return flags >> lane & 1 ? fused_scaled(a, b, c, by) : fused(a, b, c);
  });
}

// If no previous step could represent the quotient, it is not a number: a quotient below half of
// the smallest number is recognised by the exponents, others are infinite.
enum class Overflow : u8 { kIsKept, kIsNan };
template <class T, Overflow overflow = Overflow::kIsNan>
T fixed_up(T q, T d, T n) {
  constexpr T kInfinite = static_cast<T>(__builtin_inf());
  const Raw<T> sign = (as<Raw<T>>(d) ^ as<Raw<T>>(n)) & kSign<T>;
  const auto with_sign = [sign](T x) { return as<T>((as<Raw<T>>(x) & ~kSign<T>) | sign); };
  const T d_size = as<T>(as<Raw<T>>(d) & ~kSign<T>), n_size = as<T>(as<Raw<T>>(n) & ~kSign<T>);
  if (n != n) return quieted(n);
  if (d != d) return quieted(d);
  if ((n == 0 && d == 0) || (d_size == kInfinite && n_size == kInfinite))
    return static_cast<T>(-__builtin_nan(""));  // 0xffc00000
  if (d == 0 || n_size == kInfinite) return with_sign(kInfinite);
  if (n == 0 || d_size == kInfinite) return with_sign(T(0));
  if (overflow == Overflow::kIsNan && field_of(n) - field_of(d) < Format<T>::kVanishes)
    return with_sign(T(0));
  return with_sign(overflow == Overflow::kIsNan && q != q ? kInfinite : q);
}
Half fixed_up_half(Half q, Half d, Half n) {  // computed as f32, so already infinite
  return Half(fixed_up<f32, Overflow::kIsKept>(q, d, n));
}

constexpr u32 kTwoOverPi[] = {
#include "isa/two_over_pi.inc"
};

// 53 bits of 2/pi, from bit `first` after the point on. Hardware has as many bits.
constexpr int kBitsOfTwoOverPi = 1201;
u64 bits_of_two_over_pi(int first) {
  u64 made = 0;
  for (int n = first; n < first + 53; n++) {
    const bool is_there = n >= 0 && n < kBitsOfTwoOverPi;
    made = made << 1 | (is_there ? kTwoOverPi[n / 32] >> (31 - n % 32) & 1 : 0);
  }
  return made;
}

// The 53 relevant bits number `piece` for an x with this exponent.
f64 reduction_piece(f64 x, u32 piece) {
  const int exponent = field_of(x);
  int first = static_cast<int>(piece & 31) * 53;
  if (exponent > 1077) first += exponent - 1077;
  const int scale_by = -53 - first + (exponent >= 1968 ? 128 : 0);
  return __builtin_ldexp(static_cast<f64>(bits_of_two_over_pi(first)), scale_by);
}

}  // namespace

void add_divide(Table& t) {
  add(t, "v_div_scale_f32", div_scale<f32>);
  add(t, "v_div_scale_f64", div_scale<f64>);
  add(t, "v_div_fmas_f32", div_fmas<f32>);
  add(t, "v_div_fmas_f64", div_fmas<f64>);
  add(t, "v_div_fixup_f32", lanes([](f32 q, f32 d, f32 n) { return fixed_up(q, d, n); }));
  add(t, "v_div_fixup_f64", lanes([](f64 q, f64 d, f64 n) { return fixed_up(q, d, n); }));
  add(t, "v_div_fixup_f16",
      lanes<HighHalf::kKept>([](Half q, Half d, Half n) { return fixed_up_half(q, d, n); }));
  add(t, "v_div_fixup_legacy_f16",
      lanes([](Half q, Half d, Half n) { return fixed_up_half(q, d, n); }));
  add(t, "v_trig_preop_f64", lanes([](f64 x, u32 piece) { return reduction_piece(x, piece); }));
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
