// Minimum, maximum and median of floating-point numbers by AMD's rules: a number wins over NaN, but
// with MODE's IEEE bit a signalling NaN wins and is quieted; -0 is less than 0; denormals are
// flushed according to MODE.
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
template <bool is_most>
struct Extreme {
  template <class T>
  [[gnu::always_inline]] T operator()(ExtremeRules rules, T a, T b) const {
    return extreme<is_most>(a, b, rules);
  }
  template <class T>
  [[gnu::always_inline]] T operator()(ExtremeRules rules, T a, T b, T c) const {
    return extreme<is_most>(extreme<is_most>(a, b, rules), c, rules);
  }
};
using Least = Extreme<false>;
using Most = Extreme<true>;
struct Median {
  template <class T>
  [[gnu::always_inline]] T operator()(ExtremeRules rules, T a, T b, T c) const {
    const T low = extreme<false>(a, b, rules);
    if (a != a || b != b || c != c) return extreme<false>(low, c, rules);
    return extreme<true>(low, extreme<false>(extreme<true>(a, b, rules), c, rules), rules);
  }
};

template <class F, HighHalf high, class T, class... Rest>
void apply_extreme(Wave& w, const Op& op) {
  const ExtremeRules rules = extreme_rules<T>(w);
  if (rules.is_ieee && !rules.flushes) {
    const auto usual = [](int, T a, Rest... rest) { return F{}(kUsualRules, a, rest...); };
    store_computed<T, T, Rest...>(w, op, usual, high);
  } else {
    const auto ruled = [rules](int, T a, Rest... rest) { return F{}(rules, a, rest...); };
    store_computed<T, T, Rest...>(w, op, ruled, high);
  }
}
template <class T, class F, HighHalf high = HighHalf::kCleared>
constexpr Handler extreme_of_two = apply_extreme<F, high, T, T>;
template <class T, class F, HighHalf high = HighHalf::kCleared>
constexpr Handler extreme_of_three = apply_extreme<F, high, T, T, T>;

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
