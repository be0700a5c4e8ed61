// Minimum, maximum and median of floating point numbers, by AMD's rules: a number wins against NaN,
// but with MODE's IEEE bit a signalling NaN wins and becomes quiet; -0 is less than 0; denormals
// are flushed as MODE says.
#pragma once

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

struct ExtremeRules {
  bool is_ieee, flushes;
};
constexpr ExtremeRules kUsualRules{true, false};
template <class T>
[[gnu::always_inline]] inline ExtremeRules extreme_rules(const Wave& w) {
  return {(w.mode >> 9 & 1) != 0, (w.mode >> (sizeof(T) == 4 ? 4 : 6) & 3) != 3};
}

template <class T>
[[gnu::always_inline]] inline T flushed(T x) {
  constexpr int kMantissa = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
  const Raw<T> size = static_cast<Raw<T>>(as<Raw<T>>(x) & static_cast<Raw<T>>(~kSign<T>));
  return size >> kMantissa == 0 ? as<T>(static_cast<Raw<T>>(as<Raw<T>>(x) & kSign<T>)) : x;
}
template <class T>
[[gnu::always_inline]] inline bool is_signalling(T x) {
  return x != x && (as<Raw<T>>(x) & kQuiet<T>) == 0;
}

template <bool is_most, class T>
[[gnu::always_inline]] inline T extreme(T a, T b, ExtremeRules rules) {
  using Wide = decltype(T{} * 1.0F);
  if (rules.flushes) {
    a = flushed(a);
    b = flushed(b);
  }
  const Wide x = a, y = b;
  const Raw<T> same =
      static_cast<Raw<T>>(is_most ? as<Raw<T>>(a) & as<Raw<T>>(b) : as<Raw<T>>(a) | as<Raw<T>>(b));
  const bool takes_a = is_most ? x > y : x < y, takes_b = is_most ? y > x : y < x;
  T made = takes_a ? a : takes_b ? b : as<T>(same);
  made = y != y ? a : made;
  made = x != x ? b : made;
  if (!rules.is_ieee) return made;
  made = is_signalling(b) ? quieted(b) : made;
  return is_signalling(a) ? quieted(a) : made;
}
struct Least {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b, ExtremeRules rules) const {
    return extreme<false>(a, b, rules);
  }
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b, T c, ExtremeRules rules) const {
    return extreme<false>(extreme<false>(a, b, rules), c, rules);
  }
};
struct Most {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b, ExtremeRules rules) const {
    return extreme<true>(a, b, rules);
  }
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b, T c, ExtremeRules rules) const {
    return extreme<true>(extreme<true>(a, b, rules), c, rules);
  }
};
struct Median {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b, T c, ExtremeRules rules) const {
    const T low = extreme<false>(a, b, rules);
    if (a != a || b != b || c != c) return extreme<false>(low, c, rules);
    return extreme<true>(low, extreme<false>(extreme<true>(a, b, rules), c, rules), rules);
  }
};

template <class T, class F, HighHalf high = HighHalf::kCleared>
void extreme_of_two(Wave& w, const Op& op) {
  u64 mask = w.exec();
  const Source<T> a(w, op, 0, mask);
  const Source<T> b(w, op, 1, mask);
  const ExtremeRules rules = extreme_rules<T>(w);
  alignas(64) T out[kLanes];
  if (rules.is_ieee && !rules.flushes) {
    for (int l = 0; l < kLanes; l++) out[l] = F{}(a[l], b[l], kUsualRules);
  } else {
    for (int l = 0; l < kLanes; l++) out[l] = F{}(a[l], b[l], rules);
  }
  finish(w, op, out, mask, high);
}
template <class T, class F, HighHalf high = HighHalf::kCleared>
void extreme_of_three(Wave& w, const Op& op) {
  u64 mask = w.exec();
  const Source<T> a(w, op, 0, mask);
  const Source<T> b(w, op, 1, mask);
  const Source<T> c(w, op, 2, mask);
  const ExtremeRules rules = extreme_rules<T>(w);
  alignas(64) T out[kLanes];
  if (rules.is_ieee && !rules.flushes) {
    for (int l = 0; l < kLanes; l++) out[l] = F{}(a[l], b[l], c[l], kUsualRules);
  } else {
    for (int l = 0; l < kLanes; l++) out[l] = F{}(a[l], b[l], c[l], rules);
  }
  finish(w, op, out, mask, high);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
