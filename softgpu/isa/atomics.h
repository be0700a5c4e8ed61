// What atomic instructions do to a value in memory, by the part of their names that says it. Used
// by LDS, flat and buffer instructions.
#pragma once

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

// The value before. `f` makes the new one of the old.
template <class T, class F>
T exchange(void* place, F f) {
  auto* word = static_cast<Raw<T>*>(place);
  Raw<T> old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, as<Raw<T>>(f(as<T>(old))), true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
  }
  return as<T>(old);
}

// Atomic operations take whole words only: the hardware refuses others.
template <class T>
bool is_refused(Wave& w, u64 address) {
  if ((address & (sizeof(T) - 1)) == 0) return false;
  w.stop = Stop::kMemoryViolation;
  return true;
}

struct TwoHalves {
  u32 operator()(u32 a, u32 b) const {
    const Half low(f32(Half(static_cast<u16>(a))) + f32(Half(static_cast<u16>(b))));
    const Half high(f32(Half(static_cast<u16>(a >> 16))) + f32(Half(static_cast<u16>(b >> 16))));
    return low.bits | u32{high.bits} << 16;
  }
};

// "atomic_" and what follows, as flat and buffer instructions are called behind their prefix.
struct AtomicName {
  AtomicName(const char* name, const char* suffix) {
    unsigned at = 0;
    for (const char* part : {"atomic_", name, suffix}) {
      while (*part) text[at++] = *part++;
    }
  }
  char text[32] = {};
};

// maker.add<T>(name, f) for each: add, sub ... of T unsigned and S signed, with names as flat and
// buffer instructions have them.
template <class T, class S, class Maker>
void each_integer_atomic(Maker& maker, const char* suffix) {
  maker.template make<T>("swap", suffix, [](T, T b) { return b; });
  maker.template make<T>("add", suffix, [](T a, T b) { return static_cast<T>(a + b); });
  maker.template make<T>("sub", suffix, [](T a, T b) { return static_cast<T>(a - b); });
  maker.template make<S>("smin", suffix, [](S a, S b) { return a < b ? a : b; });
  maker.template make<S>("smax", suffix, [](S a, S b) { return a > b ? a : b; });
  maker.template make<T>("umin", suffix, [](T a, T b) { return a < b ? a : b; });
  maker.template make<T>("umax", suffix, [](T a, T b) { return a > b ? a : b; });
  maker.template make<T>("and", suffix, [](T a, T b) { return a & b; });
  maker.template make<T>("or", suffix, [](T a, T b) { return a | b; });
  maker.template make<T>("xor", suffix, [](T a, T b) { return a ^ b; });
  maker.template make<T>("inc", suffix,
                         [](T a, T b) { return a >= b ? T(0) : static_cast<T>(a + 1); });
  maker.template make<T>("dec", suffix,
                         [](T a, T b) { return a == 0 || a > b ? b : static_cast<T>(a - 1); });
}
template <class Maker>
void each_atomic(Maker& maker) {
  each_integer_atomic<u32, i32>(maker, "");
  each_integer_atomic<u64, i64>(maker, "_x2");
  maker.template make<f32>("add_f32", "", [](f32 a, f32 b) { return a + b; });
  maker.template make<f64>("add_f64", "", [](f64 a, f64 b) { return a + b; });
  maker.template make<f64>("min_f64", "", [](f64 a, f64 b) { return b < a || a != a ? b : a; });
  maker.template make<f64>("max_f64", "", [](f64 a, f64 b) { return b > a || a != a ? b : a; });
  maker.template make<u32>("pk_add_f16", "", TwoHalves{});
}

template <class T>
[[gnu::always_inline]] inline T lane_value(const Wave& w, unsigned row, int lane) {
  if constexpr (sizeof(T) == 8) {
    return as<T>(w.v[row][lane] | u64{w.v[(row + 1) & 511][lane]} << 32);
  } else {
    return as<T>(w.v[row][lane]);
  }
}
template <class T>
[[gnu::always_inline]] inline void set_lane_value(Wave& w, unsigned row, int lane, T value) {
  if constexpr (sizeof(T) == 8) {
    w.v[row][lane] = static_cast<u32>(as<u64>(value));
    w.v[(row + 1) & 511][lane] = static_cast<u32>(as<u64>(value) >> 32);
  } else {
    w.v[row][lane] = as<u32>(value);
  }
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
