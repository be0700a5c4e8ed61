// Moving data between registers and memory, for flat, buffer and LDS instructions.
#pragma once

#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

// The dwords of a lane, `stride` bytes apart. Private memory interleaves the dwords of all lanes.
// Without an address (0 counts as one, if it is not mapped), loads give zero and stores do nothing.
struct Place {
  u8* p = nullptr;
  u32 stride = 0;
  bool exists() const { return stride != 0; }
};

// An address in the wave's private memory; an address outside stops the wave.
inline Place private_place(Wave& w, u64 offset, int lane, u32 bytes) {
  if (offset + bytes > w.group->private_bytes) {
    w.stop = Stop::kMemoryViolation;
    return {};
  }
  return {
      w.private_memory + (offset & ~u64{3}) * kLanes + static_cast<u32>(lane) * 4 + (offset & 3),
      256};
}
inline Place lds_place(const Wave& w, u32 address, u32 bytes) {
  if (u64{address} + bytes > w.group->lds_bytes) return {};
  return {w.group->lds + address, 4};
}

// The bytes of one lane. Unaligned accesses to private memory continue in the next dword.
template <u32 bytes>
[[gnu::always_inline]] inline void get(const Place& from, void* to) {
  if (from.stride == 4) {
    __builtin_memcpy(to, from.p, bytes);
    return;
  }
  const u32 skipped = static_cast<u32>(reinterpret_cast<u64>(from.p) & 3);
  for (u32 i = 0; i < bytes; i++) {
    const u32 at = skipped + i;
    static_cast<u8*>(to)[i] = from.p[at / 4 * 256 + at % 4 - skipped];
  }
}
template <u32 bytes>
[[gnu::always_inline]] inline void put(const Place& to, const void* from) {
  if (to.stride == 4) {
    __builtin_memcpy(to.p, from, bytes);
    return;
  }
  const u32 skipped = static_cast<u32>(reinterpret_cast<u64>(to.p) & 3);
  for (u32 i = 0; i < bytes; i++) {
    const u32 at = skipped + i;
    to.p[at / 4 * 256 + at % 4 - skipped] = static_cast<const u8*>(from)[i];
  }
}

// How a load extends the bytes of a lane, or what a store takes: T is the type in memory.
enum class Into : u8 {
  kWhole,
  kLow,
  kHigh
};  // the register, or half of it while the other half is kept

template <class T, int count, Into into>
[[gnu::always_inline]] inline void load_lane(Wave& w, unsigned row, int lane, const Place& from) {
  if constexpr (sizeof(T) == 4) {
    u32 got[count] = {};
    if (from.exists()) {
      if (from.stride == 4 || (reinterpret_cast<u64>(from.p) & 3)) {
        get<4 * count>(from, got);
      } else {
        for (int d = 0; d < count; d++) __builtin_memcpy(&got[d], from.p + d * 256, 4);
      }
    }
    for (unsigned d = 0; d < count; d++) w.v[(row + d) & 511][lane] = got[d];
  } else {
    T got = 0;
    if (from.exists()) get<sizeof(T)>(from, &got);
    const u32 wide = static_cast<u32>(static_cast<i32>(got));
    u32& to = w.v[row & 511][lane];
    if (into == Into::kWhole) to = wide;
    if (into == Into::kLow) to = (to & 0xffff0000) | (wide & 0xffff);
    if (into == Into::kHigh) to = (to & 0xffff) | wide << 16;
  }
}
template <class T, int count, Into from_half>
[[gnu::always_inline]] inline void store_lane(const Wave& w, unsigned row, int lane,
                                              const Place& to) {
  if (!to.exists()) return;
  if constexpr (sizeof(T) == 4) {
    u32 given[count];
    for (unsigned d = 0; d < count; d++) given[d] = w.v[(row + d) & 511][lane];
    if (to.stride == 4 || (reinterpret_cast<u64>(to.p) & 3)) {
      put<4 * count>(to, given);
    } else {
      for (int d = 0; d < count; d++) __builtin_memcpy(to.p + d * 256, &given[d], 4);
    }
  } else {
    const T given = static_cast<T>(w.v[row & 511][lane] >> (from_half == Into::kHigh ? 16 : 0));
    put<sizeof(T)>(to, &given);
  }
}

// The dwords of all lanes, contiguous.
template <int count>
[[gnu::always_inline]] inline void load_row(Wave& w, unsigned row, const void* from) {
  alignas(64) u32 got[kLanes * count];
  __builtin_memcpy(got, from, sizeof(got));
  for (unsigned d = 0; d < count; d++) {
    u32* to = w.v[(row + d) & 511];
    for (int l = 0; l < kLanes; l++) to[l] = got[l * count + static_cast<int>(d)];
  }
}
template <int count>
[[gnu::always_inline]] inline void store_row_at(const Wave& w, unsigned row, void* to) {
  alignas(64) u32 given[kLanes * count];
  for (unsigned d = 0; d < count; d++) {
    const u32* from = w.v[(row + d) & 511];
    for (int l = 0; l < kLanes; l++) given[l * count + static_cast<int>(d)] = from[l];
  }
  __builtin_memcpy(to, given, sizeof(given));
}

// Loads into LDS instead of a register: contiguous dwords, one per lane, at M0 plus the
// instruction's offset.
template <class T>
void copy_to_lds(Wave& w, const Op& op, int lane, const Place& from) {
  T got = 0;
  if (from.exists()) get<sizeof(T)>(from, &got);
  const u32 wide = static_cast<u32>(static_cast<i32>(got));
  const u32 base = (w.s[sonde::gpu::kM0] & 0xffff) + static_cast<u32>(op.mods.offset);
  const Place to = lds_place(w, base + 4 * static_cast<u32>(lane), 4);
  if (to.exists()) put<4>(to, &wide);
}

// maker.load<T, count, into>(name), maker.store<...>(name) for each width, with the names of flat
// and buffer instructions.
template <class Maker>
void each_transfer(Maker& maker) {
  maker.template load<u8, 1, Into::kWhole>("load_ubyte");
  maker.template load<i8, 1, Into::kWhole>("load_sbyte");
  maker.template load<u16, 1, Into::kWhole>("load_ushort");
  maker.template load<i16, 1, Into::kWhole>("load_sshort");
  maker.template load<u32, 1, Into::kWhole>("load_dword");
  maker.template load<u32, 2, Into::kWhole>("load_dwordx2");
  maker.template load<u32, 3, Into::kWhole>("load_dwordx3");
  maker.template load<u32, 4, Into::kWhole>("load_dwordx4");
  maker.template load<u8, 1, Into::kLow>("load_ubyte_d16");
  maker.template load<u8, 1, Into::kHigh>("load_ubyte_d16_hi");
  maker.template load<i8, 1, Into::kLow>("load_sbyte_d16");
  maker.template load<i8, 1, Into::kHigh>("load_sbyte_d16_hi");
  maker.template load<u16, 1, Into::kLow>("load_short_d16");
  maker.template load<u16, 1, Into::kHigh>("load_short_d16_hi");
  maker.template store<u8, 1, Into::kLow>("store_byte");
  maker.template store<u8, 1, Into::kHigh>("store_byte_d16_hi");
  maker.template store<u16, 1, Into::kLow>("store_short");
  maker.template store<u16, 1, Into::kHigh>("store_short_d16_hi");
  maker.template store<u32, 1, Into::kWhole>("store_dword");
  maker.template store<u32, 2, Into::kWhole>("store_dwordx2");
  maker.template store<u32, 3, Into::kWhole>("store_dwordx3");
  maker.template store<u32, 4, Into::kWhole>("store_dwordx4");
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
