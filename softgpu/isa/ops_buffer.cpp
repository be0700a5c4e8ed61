// Buffer instructions: memory described by four SGPRs, raw, structured or swizzled. Out of bounds,
// reads give zero and writes are dropped.
#include "isa/atomics.h"
#include "isa/buffer.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

struct Transfers {
  Table& table;

  template <class T, int count, Into into>
  void load(const char* name) {
    add(table, "buffer_", name, [](Wave& w, const Op& op) {
      const Buffer buffer = buffer_of(w, op);
      alignas(64) Place at[kLanes];
      each(w.exec(), [&](int l) { at[l] = place_of(w, op, buffer, l, sizeof(T) * count); });
      each(w.exec(), [&](int l) { move<T, count, into, true>(w, op.dst, l, at[l]); });
    });
    if (count == 1 && into == Into::kWhole) add(table, "lds buffer_", name, load_to_lds<T>);
  }
  template <class T, int count, Into half>
  void store(const char* name) {
    add(table, "buffer_", name, [](Wave& w, const Op& op) {
      const Buffer buffer = buffer_of(w, op);
      each(w.exec(), [&](int l) {
        move<T, count, half, false>(w, op.dst, l, place_of(w, op, buffer, l, sizeof(T) * count));
      });
    });
  }

  template <class T>
  static void load_to_lds(Wave& w, const Op& op) {
    const Buffer buffer = buffer_of(w, op);
    each(w.exec(), [&](int l) { copy_to_lds<T>(w, op, l, place_of(w, op, buffer, l, sizeof(T))); });
  }

  // Handles strides that memory.h does not, dword by dword.
  template <class T, int count, Into half, bool is_load>
  static void move(Wave& w, unsigned row, int lane, const Place& at) {
    if (!at.exists() || count == 1 || at.stride == 4 || at.stride == 256) {
      if constexpr (is_load) {
        load_lane<T, count, half>(w, row, lane, at);
      } else {
        store_lane<T, count, half>(w, row, lane, at);
      }
      return;
    }
    for (unsigned d = 0; d < count; d++) {
      u32* const memory = reinterpret_cast<u32*>(at.p + d * at.stride);
      u32* const value = &w.v[(row + d) & 511][lane];
      if constexpr (is_load) {
        __builtin_memcpy(value, memory, 4);
      } else {
        __builtin_memcpy(memory, value, 4);
      }
    }
  }
};

template <class T, class F>
void atomic(Wave& w, const Op& op) {
  const Buffer buffer = buffer_of(w, op);
  each(w.exec(), [&](int l) {
    const Place place = place_of(w, op, buffer, l, sizeof(T));
    if (!place.exists()) return;
    const T data = lane_value<T>(w, op.dst, l);
    const T old = exchange<T>(place.p, [data](T value) { return F{}(value, data); });
    if (op.mods.glc) set_lane_value(w, op.dst, l, old);
  });
}
template <class T>
void compare_and_swap(Wave& w, const Op& op) {
  const Buffer buffer = buffer_of(w, op);
  each(w.exec(), [&](int l) {
    const Place place = place_of(w, op, buffer, l, sizeof(T));
    if (!place.exists()) return;
    const T data = lane_value<T>(w, op.dst, l),
            wanted = lane_value<T>(w, op.dst + sizeof(T) / 4, l);
    const T old = exchange_where<T>(place.p, wanted, data);
    if (op.mods.glc) set_lane_value(w, op.dst, l, old);
  });
}

}  // namespace

void add_buffer(Table& table) {
  Transfers transfers{table};
  each_transfer(transfers);
  each_atomic([&]<class T, class F>(const char* name, const char* suffix, F) {
    add(table, {"buffer_atomic_", name, suffix}, atomic<T, F>);
  });
  add(table, "buffer_", "atomic_cmpswap", compare_and_swap<u32>);
  add(table, "buffer_", "atomic_cmpswap_x2", compare_and_swap<u64>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
