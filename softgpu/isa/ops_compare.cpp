// Comparisons: give a lane mask; v_cmpx also writes it to EXEC.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// The lanes for which holds(lane, a, b) is true, with sources of types A...
template <bool sets_exec, class... A, class F>
void store_mask(Wave& w, const Op& op, F holds) {
  u64 mask = w.exec();
  alignas(64) u8 bits[kLanes];
  compute<A...>(w, op, mask, bits, holds);
  const u64 made = packed_bits(bits) & mask;
  w.set64(op.sdst, made);
  if (sets_exec) w.set64(sonde::gpu::kExec, made);
}

template <bool sets_exec, class T, class F>
void compare(Wave& w, const Op& op) {
  store_mask<sets_exec, T, T>(w, op, [](int, T a, T b) { return F{}(a, b); });
}

template <class T, class F>
void add_both(Table& t, const char* condition, const char* of, F) {
  add(t, {"v_cmp_", condition, of}, compare<false, T, F>);
  add(t, {"v_cmpx_", condition, of}, compare<true, T, F>);
}

// Of values of type T, compared as V.
template <class T, class V>
void add_orders(Table& t, const char* of) {
  add_both<T>(t, "f", of, [](V, V) { return false; });
  add_both<T>(t, "lt", of, [](V a, V b) { return a < b; });
  add_both<T>(t, "eq", of, [](V a, V b) { return a == b; });
  add_both<T>(t, "le", of, [](V a, V b) { return a <= b; });
  add_both<T>(t, "gt", of, [](V a, V b) { return a > b; });
  add_both<T>(t, "ge", of, [](V a, V b) { return a >= b; });
}

template <class T>
void add_integers(Table& t, const char* of) {
  add_orders<T, T>(t, of);
  add_both<T>(t, "ne", of, [](T a, T b) { return a != b; });
  add_both<T>(t, "t", of, [](T, T) { return true; });
}

// Negated comparisons are true for NaN.
template <class T, class V>
void add_floats(Table& t, const char* of) {
  add_orders<T, V>(t, of);
  add_both<T>(t, "lg", of, [](V a, V b) { return a < b || a > b; });
  add_both<T>(t, "o", of, [](V a, V b) { return a == a && b == b; });
  add_both<T>(t, "u", of, [](V a, V b) { return a != a || b != b; });
  add_both<T>(t, "nge", of, [](V a, V b) { return !(a >= b); });
  add_both<T>(t, "nlg", of, [](V a, V b) { return !(a < b || a > b); });
  add_both<T>(t, "ngt", of, [](V a, V b) { return !(a > b); });
  add_both<T>(t, "nle", of, [](V a, V b) { return !(a <= b); });
  add_both<T>(t, "neq", of, [](V a, V b) { return !(a == b); });
  add_both<T>(t, "nlt", of, [](V a, V b) { return !(a < b); });
  add_both<T>(t, "tru", of, [](V, V) { return true; });
}

// Bits of the class mask: signalling and quiet NaN, then -inf, -normal, -denormal, -0, +0, ...
// +inf.
template <class T>
unsigned class_of(T x) {
  constexpr int kMantissa = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
  const Raw<T> bits = as<Raw<T>>(x),
               size = static_cast<Raw<T>>(bits & static_cast<Raw<T>>(~kSign<T>));
  const Raw<T> one = static_cast<Raw<T>>(Raw<T>{1} << kMantissa);
  const Raw<T> infinite =
      static_cast<Raw<T>>(static_cast<Raw<T>>(~kSign<T>) & static_cast<Raw<T>>(~(one - 1)));
  const bool is_minus = bits != size;
  if (size > infinite) return size >> (kMantissa - 1) & 1 ? 1 : 0;
  if (size == infinite) return is_minus ? 2 : 9;
  if (size == 0) return is_minus ? 5 : 6;
  if (size < one) return is_minus ? 4 : 7;
  return is_minus ? 3 : 8;
}
template <class T, bool sets_exec>
void compare_class(Wave& w, const Op& op) {
  store_mask<sets_exec, T, u32>(w, op, [](int, T a, u32 b) { return b >> class_of(a) & 1; });
}

}  // namespace

void add_compare(Table& t) {
  add_integers<u32>(t, "_u32");
  add_integers<i32>(t, "_i32");
  add_integers<u64>(t, "_u64");
  add_integers<i64>(t, "_i64");
  add_integers<u16>(t, "_u16");
  add_integers<i16>(t, "_i16");
  add_floats<f32, f32>(t, "_f32");
  add_floats<f64, f64>(t, "_f64");
  add_floats<Half, f32>(t, "_f16");
  add(t, "v_cmp_class_f32", compare_class<f32, false>);
  add(t, "v_cmp_class_f64", compare_class<f64, false>);
  add(t, "v_cmp_class_f16", compare_class<Half, false>);
  add(t, "v_cmpx_class_f32", compare_class<f32, true>);
  add(t, "v_cmpx_class_f64", compare_class<f64, true>);
  add(t, "v_cmpx_class_f16", compare_class<Half, true>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
