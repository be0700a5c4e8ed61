// Atomic operations on local memory: for each one with and one without the value before.
#include "isa/atomics.h"
#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

template <class T>
T* place_of(Wave& w, const Op& op, int lane) {
  const u32 address = w.v[op.src[0] - kFirstVgpr][lane] + static_cast<u32>(op.mods.offset);
  if (is_refused<T>(w, address)) return nullptr;
  return reinterpret_cast<T*>(lds_place(w, address, sizeof(T)).p);
}

template <class T, bool returns, class F>
void atomic(Wave& w, const Op& op) {
  const unsigned row = op.src[1] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    T* place = place_of<T>(w, op, l);
    const T data = lane_value<T>(w, row, l);
    const T old = place ? exchange<T>(place, [data](T value) { return F{}(value, data); }) : T(0);
    if (returns) set_lane_value(w, op.dst, l, old);
  });
}
// f(memory, first, second).
template <class T, bool returns, class F>
void atomic_of_two(Wave& w, const Op& op) {
  const unsigned row = op.src[1] - kFirstVgpr, second_row = op.src[2] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    T* place = place_of<T>(w, op, l);
    const T first = lane_value<T>(w, row, l), second = lane_value<T>(w, second_row, l);
    const T old =
        place ? exchange<T>(place, [=](T value) { return F{}(value, first, second); }) : T(0);
    if (returns) set_lane_value(w, op.dst, l, old);
  });
}

template <class T, class F>
void add_pair(Table& t, const char* operation, const char* type, F) {
  add(t, operation, type, atomic<T, false, F>);
  char with_return[32];
  unsigned at = 0;
  for (const char* part : {operation, "rtn_"}) {
    while (*part) with_return[at++] = *part++;
  }
  with_return[at] = 0;
  add(t, with_return, type, atomic<T, true, F>);
}
template <class T, class F>
void add_pair_of_two(Table& t, const char* operation, const char* type, F) {
  add(t, operation, type, atomic_of_two<T, false, F>);
  char with_return[32];
  unsigned at = 0;
  for (const char* part : {operation, "rtn_"}) {
    while (*part) with_return[at++] = *part++;
  }
  with_return[at] = 0;
  add(t, with_return, type, atomic_of_two<T, true, F>);
}

template <class T, class S>
void add_integers(Table& t, const char* u, const char* i, const char* b) {
  add_pair<T>(t, "ds_add_", u, [](T x, T y) { return static_cast<T>(x + y); });
  add_pair<T>(t, "ds_sub_", u, [](T x, T y) { return static_cast<T>(x - y); });
  add_pair<T>(t, "ds_rsub_", u, [](T x, T y) { return static_cast<T>(y - x); });
  add_pair<T>(t, "ds_inc_", u, [](T x, T y) { return x >= y ? T(0) : static_cast<T>(x + 1); });
  add_pair<T>(t, "ds_dec_", u,
              [](T x, T y) { return x == 0 || x > y ? y : static_cast<T>(x - 1); });
  add_pair<S>(t, "ds_min_", i, [](S x, S y) { return x < y ? x : y; });
  add_pair<S>(t, "ds_max_", i, [](S x, S y) { return x > y ? x : y; });
  add_pair<T>(t, "ds_min_", u, [](T x, T y) { return x < y ? x : y; });
  add_pair<T>(t, "ds_max_", u, [](T x, T y) { return x > y ? x : y; });
  add_pair<T>(t, "ds_and_", b, [](T x, T y) { return x & y; });
  add_pair<T>(t, "ds_or_", b, [](T x, T y) { return x | y; });
  add_pair<T>(t, "ds_xor_", b, [](T x, T y) { return x ^ y; });
  add_pair_of_two<T>(t, "ds_mskor_", b, [](T x, T mask, T y) { return (x & ~mask) | y; });
  // The first is what is compared with.
  add_pair_of_two<T>(t, "ds_cmpst_", b, [](T x, T wanted, T y) { return x == wanted ? y : x; });
}
template <class T>
void add_floats(Table& t, const char* f) {
  add_pair<T>(t, "ds_add_", f, [](T x, T y) { return x + y; });
  add_pair<T>(t, "ds_min_", f, [](T x, T y) { return y < x || x != x ? y : x; });
  add_pair<T>(t, "ds_max_", f, [](T x, T y) { return y > x || x != x ? y : x; });
  add_pair_of_two<T>(t, "ds_cmpst_", f, [](T x, T wanted, T y) { return x == wanted ? y : x; });
}

template <class T>
void swap_in(Wave& w, const Op& op) {
  atomic<T, true, decltype([](T, T y) { return y; })>(w, op);
}
template <class T, int scale>
void swap_two(Wave& w, const Op& op) {
  each(w.exec(), [&](int l) {
    T old[2] = {};
    for (unsigned n = 0; n < 2; n++) {
      const u32 offset = static_cast<u32>(op.mods.offset) >> 8 * n & 255;
      const u32 address = w.v[op.src[0] - kFirstVgpr][l] + offset * sizeof(T) * scale;
      const Place place = is_refused<T>(w, address) ? Place() : lds_place(w, address, sizeof(T));
      const T data = lane_value<T>(w, op.src[1 + n] - unsigned{kFirstVgpr}, l);
      if (place.exists())
        old[n] = __atomic_exchange_n(reinterpret_cast<T*>(place.p), data, __ATOMIC_ACQ_REL);
    }
    for (unsigned n = 0; n < 2; n++)
      set_lane_value(w, op.dst + n * static_cast<unsigned>(sizeof(T)) / 4, l, old[n]);
  });
}

}  // namespace

void add_lds_atomic(Table& t) {
  add_integers<u32, i32>(t, "u32", "i32", "b32");
  add_integers<u64, i64>(t, "u64", "i64", "b64");
  add_floats<f32>(t, "f32");
  add_floats<f64>(t, "f64");
  add(t, "ds_wrxchg_rtn_b32", swap_in<u32>);
  add(t, "ds_wrxchg_rtn_b64", swap_in<u64>);
  add(t, "ds_wrxchg2_rtn_b32", swap_two<u32, 1>);
  add(t, "ds_wrxchg2_rtn_b64", swap_two<u64, 1>);
  add(t, "ds_wrxchg2st64_rtn_b32", swap_two<u32, 64>);
  add(t, "ds_wrxchg2st64_rtn_b64", swap_two<u64, 64>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
