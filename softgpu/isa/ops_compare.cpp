// Comparisons: a lane mask of what holds; v_cmpx also makes it EXEC.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

template <bool sets_exec>
void store_mask(Wave& w, const Op& op, const u8* bits, u64 mask) {
  const u64 made = packed_bits(bits) & mask;
  w.set64(op.sdst, made);
  if (sets_exec) w.set64(sonde::gpu::kExec, made);
}

template <bool sets_exec, class T, class F>
void compare(Wave& w, const Op& op) {
  u64 mask = w.exec();
  const Source<T> a(w, op, 0, mask);
  const Source<T> b(w, op, 1, mask);
  alignas(64) u8 bits[kLanes];
  for (int l = 0; l < kLanes; l++) bits[l] = F{}(a[l], b[l]);
  store_mask<sets_exec>(w, op, bits, mask);
}

template <class T, class F>
void add_both(Table& t, const char* condition, const char* of, F) {
  char name[32];
  for (const bool sets_exec : {false, true}) {
    unsigned at = 0;
    for (const char* part : {sets_exec ? "v_cmpx_" : "v_cmp_", condition, of}) {
      while (*part) name[at++] = *part++;
    }
    name[at] = 0;
    add(t, name, sets_exec ? compare<true, T, F> : compare<false, T, F>);
  }
}

template <class T>
void add_integers(Table& t, const char* of) {
  add_both<T>(t, "f", of, [](T, T) { return false; });
  add_both<T>(t, "lt", of, [](T a, T b) { return a < b; });
  add_both<T>(t, "eq", of, [](T a, T b) { return a == b; });
  add_both<T>(t, "le", of, [](T a, T b) { return a <= b; });
  add_both<T>(t, "gt", of, [](T a, T b) { return a > b; });
  add_both<T>(t, "ne", of, [](T a, T b) { return a != b; });
  add_both<T>(t, "ge", of, [](T a, T b) { return a >= b; });
  add_both<T>(t, "t", of, [](T, T) { return true; });
}

// Those with n are true for NaN.
template <class T, class V>
void add_floats(Table& t, const char* of) {
  add_both<T>(t, "f", of, [](V, V) { return false; });
  add_both<T>(t, "lt", of, [](V a, V b) { return a < b; });
  add_both<T>(t, "eq", of, [](V a, V b) { return a == b; });
  add_both<T>(t, "le", of, [](V a, V b) { return a <= b; });
  add_both<T>(t, "gt", of, [](V a, V b) { return a > b; });
  add_both<T>(t, "lg", of, [](V a, V b) { return a < b || a > b; });
  add_both<T>(t, "ge", of, [](V a, V b) { return a >= b; });
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
  u64 mask = w.exec();
  const Source<T> a(w, op, 0, mask);
  const Source<u32> b(w, op, 1, mask);
  alignas(64) u8 bits[kLanes];
  for (int l = 0; l < kLanes; l++) bits[l] = b[l] >> class_of(a[l]) & 1;
  store_mask<sets_exec>(w, op, bits, mask);
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
