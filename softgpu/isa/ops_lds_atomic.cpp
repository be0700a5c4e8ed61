// Atomic operations on LDS: each with and without a returned value.
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
void add_pair_of_two(Table& t, const char* operation, const char* type, F) {
  add(t, {"ds_", operation, "_", type}, atomic_of_two<T, false, F>);
  add(t, {"ds_", operation, "_rtn_", type}, atomic_of_two<T, true, F>);
}

// Operations with two values; for cmpst, the first one is the comparison value.
template <class T>
void add_masked(Table& t, const char* type) {
  add_pair_of_two<T>(t, "mskor", type, [](T x, T mask, T y) { return (x & ~mask) | y; });
}
template <class T>
void add_compared(Table& t, const char* type) {
  add_pair_of_two<T>(t, "cmpst", type, [](T x, T wanted, T y) { return x == wanted ? y : x; });
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
  each_lds_atomic([&]<class T, class F>(const char* name, const char* type, F) {
    add(t, {"ds_", name, "_", type}, atomic<T, false, F>);
    add(t, {"ds_", name, "_rtn_", type}, atomic<T, true, F>);
  });
  add_masked<u32>(t, "b32");
  add_masked<u64>(t, "b64");
  add_compared<u32>(t, "b32");
  add_compared<u64>(t, "b64");
  add_compared<f32>(t, "f32");
  add_compared<f64>(t, "f64");
  add(t, "ds_wrxchg_rtn_b32", swap_in<u32>);
  add(t, "ds_wrxchg_rtn_b64", swap_in<u64>);
  add(t, "ds_wrxchg2_rtn_b32", swap_two<u32, 1>);
  add(t, "ds_wrxchg2_rtn_b64", swap_two<u64, 1>);
  add(t, "ds_wrxchg2st64_rtn_b32", swap_two<u32, 64>);
  add(t, "ds_wrxchg2st64_rtn_b64", swap_two<u64, 64>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
