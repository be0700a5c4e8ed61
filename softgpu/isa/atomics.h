// The effects of atomic instructions on a value in memory, by the part of their names that says it.
// Used by LDS, flat and buffer instructions.
#pragma once

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

// Returns the old value. `f` computes the new one from it.
template <class T, class F>
T exchange(void* place, F f) {
  auto* word = static_cast<Raw<T>*>(place);
  Raw<T> old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, as<Raw<T>>(f(as<T>(old))), true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
  }
  return as<T>(old);
}

// Returns the old value, which `data` replaces if it equals `wanted`.
template <class T>
T exchange_where(void* place, T wanted, T data) {
  T old = wanted;
  __atomic_compare_exchange_n(static_cast<T*>(place), &old, data, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return old;
}

// Atomic operations must be aligned: the hardware rejects others.
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

// The suffixes of operations on unsigned numbers, signed ones and bits.
struct Suffixes {
  const char *u, *i, *b;
};
// The names of minimum and maximum, signed and unsigned.
struct ExtremeNames {
  const char *smin, *smax, *umin, *umax;
};

// make.operator()<T>(name, suffix, f) for each operation: add, sub ... with T unsigned and S
// signed.
template <class T, class S, class Make>
void each_integer_operation(Make make, const ExtremeNames& names, const Suffixes& of) {
  make.template operator()<T>("add", of.u, [](T a, T b) { return static_cast<T>(a + b); });
  make.template operator()<T>("sub", of.u, [](T a, T b) { return static_cast<T>(a - b); });
  make.template operator()<S>(names.smin, of.i, [](S a, S b) { return a < b ? a : b; });
  make.template operator()<S>(names.smax, of.i, [](S a, S b) { return a > b ? a : b; });
  make.template operator()<T>(names.umin, of.u, [](T a, T b) { return a < b ? a : b; });
  make.template operator()<T>(names.umax, of.u, [](T a, T b) { return a > b ? a : b; });
  make.template operator()<T>("and", of.b, [](T a, T b) { return a & b; });
  make.template operator()<T>("or", of.b, [](T a, T b) { return a | b; });
  make.template operator()<T>("xor", of.b, [](T a, T b) { return a ^ b; });
  make.template operator()<T>("inc", of.u,
                              [](T a, T b) { return a >= b ? T(0) : static_cast<T>(a + 1); });
  make.template operator()<T>("dec", of.u,
                              [](T a, T b) { return a == 0 || a > b ? b : static_cast<T>(a - 1); });
}

// With the names of flat, buffer and scalar instructions.
template <class T, class S, class Make>
void each_integer_atomic(Make make, const char* suffix) {
  make.template operator()<T>("swap", suffix, [](T, T b) { return b; });
  each_integer_operation<T, S>(make, {"smin", "smax", "umin", "umax"}, {suffix, suffix, suffix});
}
template <class Make>
void each_atomic(Make make) {
  each_integer_atomic<u32, i32>(make, "");
  each_integer_atomic<u64, i64>(make, "_x2");
  make.template operator()<f32>("add_f32", "", [](f32 a, f32 b) { return a + b; });
  make.template operator()<f64>("add_f64", "", [](f64 a, f64 b) { return a + b; });
  make.template operator()<f64>("min_f64", "",
                                [](f64 a, f64 b) { return b < a || a != a ? b : a; });
  make.template operator()<f64>("max_f64", "",
                                [](f64 a, f64 b) { return b > a || a != a ? b : a; });
  make.template operator()<u32>("pk_add_f16", "", TwoHalves{});
}

// With the names of LDS instructions, whose types are u32, i32 and b32, or 64 bits wide.
template <class T, class S, class Make>
void each_integer_lds_atomic(Make make, const Suffixes& of) {
  make.template operator()<T>("rsub", of.u, [](T a, T b) { return static_cast<T>(b - a); });
  each_integer_operation<T, S>(make, {"min", "max", "min", "max"}, of);
}
template <class T, class Make>
void each_float_lds_atomic(Make make, const char* f) {
  make.template operator()<T>("add", f, [](T x, T y) { return x + y; });
  make.template operator()<T>("min", f, [](T x, T y) { return y < x || x != x ? y : x; });
  make.template operator()<T>("max", f, [](T x, T y) { return y > x || x != x ? y : x; });
}
template <class Make>
void each_lds_atomic(Make make) {
  each_integer_lds_atomic<u32, i32>(make, {"u32", "i32", "b32"});
  each_integer_lds_atomic<u64, i64>(make, {"u64", "i64", "b64"});
  each_float_lds_atomic<f32>(make, "f32");
  each_float_lds_atomic<f64>(make, "f64");
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
