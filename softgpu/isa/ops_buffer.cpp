// Buffer instructions: memory by a descriptor in four SGPRs, raw, structured or swizzled. What is
// outside reads as zero and is not written.
#include "isa/atomics.h"
#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

struct Buffer {
  u64 base;
  u32 stride, records, index_stride, soffset;
  bool is_swizzled, adds_lane;
};

Buffer buffer_of(const Wave& w, const Op& op) {
  const u32* s = &w.s[op.src[0]];
  Buffer made{};
  made.base = s[0] | u64{s[1] & 0xffff} << 32;
  made.stride = s[1] >> 16 & 0x3fff;
  made.records = s[2];
  made.is_swizzled = s[1] >> 31;
  made.index_stride = 8U << (s[3] >> 21 & 3);
  made.adds_lane = s[3] >> 23 & 1;
  if (made.adds_lane) made.stride |= (s[3] >> 15 & 15) << 14;  // the format's bits are the stride's
  made.soffset = op.mods.scalar_offset ? scalar(w, op, *op.mods.scalar_offset) : 0;
  return made;
}

Place place_of(Wave& w, const Op& op, const Buffer& buffer, int lane, u32 bytes) {
  const unsigned row = op.mods.vaddr;
  u32 index = buffer.adds_lane ? static_cast<u32>(lane) : 0;
  if (op.mods.idxen) index += w.v[row][lane];
  u64 offset = static_cast<u32>(op.mods.offset);
  if (op.mods.offen) offset += w.v[op.mods.idxen ? (row + 1) & 511 : row][lane];
  if (!buffer.is_swizzled) {
    const u64 place = u64{index} * buffer.stride + offset;
    const bool is_inside = buffer.stride == 0 || !op.mods.idxen
                               ? place + buffer.soffset + bytes <= buffer.records
                               : index < buffer.records;
    if (!is_inside) return {};
    return {reinterpret_cast<u8*>(buffer.base + buffer.soffset + place), 4};
  }
  const u64 group = index / buffer.index_stride, within = index % buffer.index_stride;
  const u64 place = (group * buffer.stride + (offset & ~u64{3})) * buffer.index_stride +
                    within * 4 + (offset & 3);
  u8* const p = reinterpret_cast<u8*>(buffer.base + buffer.soffset + place);
  const u8* const own = w.private_memory;
  const bool is_private = buffer.adds_lane;
  if (is_private && (p < own || p + bytes * kLanes >
                                    own + u64{w.group->private_bytes} * kLanes + 3 * u64{kLanes})) {
    w.stop = Stop::kMemoryViolation;
    return {};
  }
  if (!is_private && index >= buffer.records) return {};
  return {p, 4 * buffer.index_stride};
}

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

  // The dwords of other strides than those of memory.h one after the other.
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
    T old = wanted;
    __atomic_compare_exchange_n(reinterpret_cast<T*>(place.p), &old, data, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    if (op.mods.glc) set_lane_value(w, op.dst, l, old);
  });
}

struct Atomics {
  Table& table;

  template <class T, class F>
  void make(const char* name, const char* suffix, F) {
    add(table, "buffer_", AtomicName(name, suffix).text, atomic<T, F>);
  }
};

}  // namespace

void add_buffer(Table& table) {
  Transfers transfers{table};
  each_transfer(transfers);
  Atomics atomics{table};
  each_atomic(atomics);
  add(table, "buffer_", "atomic_cmpswap", compare_and_swap<u32>);
  add(table, "buffer_", "atomic_cmpswap_x2", compare_and_swap<u64>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
