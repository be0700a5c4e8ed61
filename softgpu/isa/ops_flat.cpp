// Flat, global and scratch instructions.
#include "isa/atomics.h"
#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

enum class Segment : u8 { kFlat, kGlobal, kScratch };

template <Segment segment>
[[gnu::always_inline]] inline void find_addresses(const Wave& w, const Op& op, u64* to) {
  const unsigned row = op.src[0] - kFirstVgpr;
  const u64 offset = static_cast<u64>(i64{op.mods.offset});
  if (segment == Segment::kScratch) {
    for (int l = 0; l < kLanes; l++) {
      const u32 base = op.mods.scalar_base ? w.s[*op.mods.scalar_base] : w.v[row][l];
      to[l] = static_cast<u32>(base + static_cast<u32>(offset));
    }
  } else if (segment == Segment::kGlobal && op.mods.scalar_base) {
    const u64 base = w.s64(*op.mods.scalar_base) + offset;
    for (int l = 0; l < kLanes; l++) to[l] = base + w.v[row][l];
  } else {
    const u32* high = w.v[(row + 1) & 511];
    for (int l = 0; l < kLanes; l++) to[l] = offset + (w.v[row][l] | u64{high[l]} << 32);
  }
}

template <Segment segment>
[[gnu::always_inline]] inline Place place_of(Wave& w, u64 address, int lane, u32 bytes) {
  if (segment == Segment::kScratch) return private_place(w, address, lane, bytes);
  if (segment == Segment::kFlat) {
    const u32 aperture = static_cast<u32>(address >> 32);
    if (aperture == kLdsAperture) {
      const Place found = lds_place(w, static_cast<u32>(address), bytes);
      if (!found.exists()) w.stop = Stop::kMemoryViolation;
      return found;
    }
    if (aperture == kPrivateAperture)
      return private_place(w, static_cast<u32>(address), lane, bytes);
  }
  return {reinterpret_cast<u8*>(address), 4};
}

// The address of the first lane if all lanes are active and their dwords are contiguous, as in
// streaming code; otherwise 0.
template <Segment segment, u32 bytes>
[[gnu::always_inline]] inline u64 address_of_row(const Wave& w, const Op& op) {
  if (segment != Segment::kGlobal || bytes % 4 != 0 || w.exec() != kAll) return 0;
  const unsigned row = op.src[0] - kFirstVgpr;
  const u32* low = w.v[row];
  const u32 first = low[0];
  u32 differences = first > ~u32{0} - kLanes * bytes;  // they would cross 4 GiB
  for (u32 l = 0; l < kLanes; l++) differences |= low[l] ^ (first + l * bytes);
  const u64 offset = static_cast<u64>(i64{op.mods.offset});
  if (op.mods.scalar_base)
    return differences == 0 ? w.s64(*op.mods.scalar_base) + first + offset : 0;
  const u32* high = w.v[(row + 1) & 511];
  for (u32 l = 0; l < kLanes; l++) differences |= high[l] ^ high[0];
  return differences == 0 ? (first | u64{high[0]} << 32) + offset : 0;
}
template <Segment segment>
struct Transfers {
  Table& table;
  const char* prefix;

  template <class T, int count, Into into>
  void load(const char* name) {
    add(table, prefix, name, [](Wave& w, const Op& op) {
      const u64 first = address_of_row<segment, sizeof(T) * count>(w, op);
      if (first != 0) return load_row<count>(w, op.dst, reinterpret_cast<const void*>(first));
      alignas(64) u64 at[kLanes];
      find_addresses<segment>(w, op, at);
      each(w.exec(), [&](int l) {
        load_lane<T, count, into>(w, op.dst, l, place_of<segment>(w, at[l], l, sizeof(T) * count));
      });
    });
    if (segment != Segment::kFlat && count == 1 && into == Into::kWhole) {
      add(table, segment == Segment::kGlobal ? "lds global_" : "lds scratch_", name,
          load_to_lds<T>);
    }
  }
  template <class T>
  static void load_to_lds(Wave& w, const Op& op) {
    alignas(64) u64 at[kLanes];
    find_addresses<segment>(w, op, at);
    each(w.exec(),
         [&](int l) { copy_to_lds<T>(w, op, l, place_of<segment>(w, at[l], l, sizeof(T))); });
  }
  template <class T, int count, Into half>
  void store(const char* name) {
    add(table, prefix, name, [](Wave& w, const Op& op) {
      const unsigned row = op.src[1] - kFirstVgpr;
      const u64 first = address_of_row<segment, sizeof(T) * count>(w, op);
      if (first != 0) return store_row_at<count>(w, row, reinterpret_cast<void*>(first));
      alignas(64) u64 at[kLanes];
      find_addresses<segment>(w, op, at);
      each(w.exec(), [&](int l) {
        store_lane<T, count, half>(w, row, l, place_of<segment>(w, at[l], l, sizeof(T) * count));
      });
    });
  }
};

// change(place, data, lane) writes the new value to memory and returns the old one.
template <class T, Segment segment, class Change>
void each_changed(Wave& w, const Op& op, Change change) {
  alignas(64) u64 at[kLanes];
  find_addresses<segment>(w, op, at);
  const unsigned row = op.src[1] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    if (is_refused<T>(w, at[l])) return;
    const Place place = place_of<segment>(w, at[l], l, sizeof(T));
    if (!place.exists()) return;
    const T old = change(place.p, lane_value<T>(w, row, l), l);
    if (op.mods.glc) set_lane_value(w, op.dst, l, old);
  });
}
template <class T, Segment segment, class F>
void atomic(Wave& w, const Op& op) {
  each_changed<T, segment>(w, op, [](auto* place, T data, int) {
    return exchange<T>(place, [data](T value) { return F{}(value, data); });
  });
}
template <class T, Segment segment>
void compare_and_swap(Wave& w, const Op& op) {
  const unsigned wanted = op.src[1] - kFirstVgpr + sizeof(T) / 4;
  each_changed<T, segment>(w, op, [&](auto* place, T data, int l) {
    return exchange_where<T>(place, lane_value<T>(w, wanted, l), data);
  });
}

template <Segment segment>
void add_atomics(Table& table, const char* prefix) {
  each_atomic([&]<class T, class F>(const char* name, const char* suffix, F) {
    add(table, {prefix, "atomic_", name, suffix}, atomic<T, segment, F>);
  });
  add(table, prefix, "atomic_cmpswap", compare_and_swap<u32, segment>);
  add(table, prefix, "atomic_cmpswap_x2", compare_and_swap<u64, segment>);
}

}  // namespace

void add_flat(Table& table) {
  Transfers<Segment::kFlat> flat{table, "flat_"};
  each_transfer(flat);
  Transfers<Segment::kGlobal> global{table, "global_"};
  each_transfer(global);
  Transfers<Segment::kScratch> scratch{table, "scratch_"};
  each_transfer(scratch);
}

void add_flat_atomic(Table& table) {
  add_atomics<Segment::kFlat>(table, "flat_");
  add_atomics<Segment::kGlobal>(table, "global_");
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
