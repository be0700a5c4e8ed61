// LDS instructions: loads, stores, and the exchange of values between lanes by LDS hardware.
#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// The first lane's dwords, if all lanes are active and their dwords are contiguous.
template <u32 bytes>
u8* place_of_row(const Wave& w, const Op& op) {
  if (bytes % 4 != 0 || w.exec() != kAll) return nullptr;
  const u32* addresses = w.v[op.src[0] - kFirstVgpr];
  const u32 first = addresses[0];
  u32 differences = 0;
  for (u32 l = 0; l < kLanes; l++) differences |= addresses[l] ^ (first + l * bytes);
  const u64 begin = u64{first} + static_cast<u32>(op.mods.offset);
  if (differences != 0 || begin + u64{kLanes} * bytes > w.group->lds_bytes) return nullptr;
  return w.group->lds + begin;
}

template <class T, int count, Into into>
void read(Wave& w, const Op& op) {
  if (const u8* first = place_of_row<sizeof(T) * count>(w, op))
    return load_row<count>(w, op.dst, first);
  const unsigned row = op.src[0] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    const u32 address = w.v[row][l] + static_cast<u32>(op.mods.offset);
    load_lane<T, count, into>(w, op.dst, l, lds_place(w, address, sizeof(T) * count));
  });
}
template <class T, int count, Into half>
void write(Wave& w, const Op& op) {
  const unsigned row = op.src[0] - kFirstVgpr, from = op.src[1] - kFirstVgpr;
  if (u8* first = place_of_row<sizeof(T) * count>(w, op))
    return store_row_at<count>(w, from, first);
  each(w.exec(), [&](int l) {
    const u32 address = w.v[row][l] + static_cast<u32>(op.mods.offset);
    store_lane<T, count, half>(w, from, l, lds_place(w, address, sizeof(T) * count));
  });
}

// Two addresses, each with an eight-bit offset in units of the value's size times `scale`.
template <int dwords, int scale>
u32 two_address(const Wave& w, const Op& op, int lane, int which) {
  const u32 offset = static_cast<u32>(op.mods.offset) >> 8 * which & 255;
  return w.v[op.src[0] - kFirstVgpr][lane] + offset * dwords * 4 * scale;
}
template <int dwords, int scale>
void read_two(Wave& w, const Op& op) {
  each(w.exec(), [&](int l) {
    // The first result may overwrite the address of the second.
    const u32 second = two_address<dwords, scale>(w, op, l, 1);
    load_lane<u32, dwords, Into::kWhole>(
        w, op.dst, l, lds_place(w, two_address<dwords, scale>(w, op, l, 0), dwords * 4));
    load_lane<u32, dwords, Into::kWhole>(w, op.dst + unsigned{dwords}, l,
                                         lds_place(w, second, dwords * 4));
  });
}
template <int dwords, int scale>
void write_two(Wave& w, const Op& op) {
  each(w.exec(), [&](int l) {
    for (int n = 0; n < 2; n++) {
      const Place to = lds_place(w, two_address<dwords, scale>(w, op, l, n), dwords * 4);
      store_lane<u32, dwords, Into::kWhole>(w, op.src[1 + n] - unsigned{kFirstVgpr}, l, to);
    }
  });
}

void take_from_lane(Wave& w, const Op& op) {  // ds_bpermute
  alignas(64) u32 out[kLanes];
  const u32* address = w.v[op.src[0] - kFirstVgpr];
  const u32* data = w.v[op.src[1] - kFirstVgpr];
  const u64 exec = w.exec();
  for (int l = 0; l < kLanes; l++) {
    const u32 from = (address[l] + static_cast<u32>(op.mods.offset)) >> 2 & 63;
    out[l] = exec >> from & 1 ? data[from] : 0;
  }
  store_row(w, op.dst, out, exec);
}
void give_to_lane(Wave& w, const Op& op) {  // ds_permute
  alignas(64) u32 out[kLanes] = {};
  each(w.exec(), [&](int l) {
    const u32 to = (w.v[op.src[0] - kFirstVgpr][l] + static_cast<u32>(op.mods.offset)) >> 2 & 63;
    out[to] = w.v[op.src[1] - kFirstVgpr][l];
  });
  store_row(w, op.dst, out, w.exec());
}
void swizzle(Wave& w, const Op& op) {
  alignas(64) u32 out[kLanes];
  const u32* data = w.v[op.src[0] - kFirstVgpr];
  const u32 how = static_cast<u32>(op.mods.offset);
  const u64 exec = w.exec();
  for (u32 l = 0; l < kLanes; l++) {
    const u32 in_quad = (l & ~u32{3}) | (how >> (l & 3) * 2 & 3);
    const u32 in_half = (l & 32) | (((l & how & 31) | (how >> 5 & 31)) ^ (how >> 10 & 31));
    const u32 from = how & 0x8000 ? in_quad : in_half;
    out[l] = exec >> from & 1 ? data[from] : 0;
  }
  store_row(w, op.dst, out, exec);
}

// Adds the number of active lanes to the counter at M0 (where compilers put its address) plus the
// offset, or subtracts it.
template <int sign>
void count_lanes(Wave& w, const Op& op) {
  const u32 address = (w.s[sonde::gpu::kM0] & 0xffff) + static_cast<u32>(op.mods.offset);
  const Place place = lds_place(w, address, 4);
  u32 old = 0;
  if (place.exists()) {
    const u32 lanes_now = static_cast<u32>(__builtin_popcountll(w.exec()));
    old = __atomic_fetch_add(reinterpret_cast<u32*>(place.p), sign * lanes_now, __ATOMIC_ACQ_REL);
  }
  each(w.exec(), [&](int l) { w.v[op.dst][l] = old; });
}

}  // namespace

void add_lds(Table& t) {
  add(t, "ds_read_u8", read<u8, 1, Into::kWhole>);
  add(t, "ds_read_i8", read<i8, 1, Into::kWhole>);
  add(t, "ds_read_u16", read<u16, 1, Into::kWhole>);
  add(t, "ds_read_i16", read<i16, 1, Into::kWhole>);
  add(t, "ds_read_u8_d16", read<u8, 1, Into::kLow>);
  add(t, "ds_read_u8_d16_hi", read<u8, 1, Into::kHigh>);
  add(t, "ds_read_i8_d16", read<i8, 1, Into::kLow>);
  add(t, "ds_read_i8_d16_hi", read<i8, 1, Into::kHigh>);
  add(t, "ds_read_u16_d16", read<u16, 1, Into::kLow>);
  add(t, "ds_read_u16_d16_hi", read<u16, 1, Into::kHigh>);
  add(t, "ds_read_b32", read<u32, 1, Into::kWhole>);
  add(t, "ds_read_b64", read<u32, 2, Into::kWhole>);
  add(t, "ds_read_b96", read<u32, 3, Into::kWhole>);
  add(t, "ds_read_b128", read<u32, 4, Into::kWhole>);
  add(t, "ds_write_b8", write<u8, 1, Into::kLow>);
  add(t, "ds_write_b8_d16_hi", write<u8, 1, Into::kHigh>);
  add(t, "ds_write_b16", write<u16, 1, Into::kLow>);
  add(t, "ds_write_b16_d16_hi", write<u16, 1, Into::kHigh>);
  add(t, "ds_write_b32", write<u32, 1, Into::kWhole>);
  add(t, "ds_write_b64", write<u32, 2, Into::kWhole>);
  add(t, "ds_write_b96", write<u32, 3, Into::kWhole>);
  add(t, "ds_write_b128", write<u32, 4, Into::kWhole>);
  add(t, "ds_read2_b32", read_two<1, 1>);
  add(t, "ds_read2_b64", read_two<2, 1>);
  add(t, "ds_read2st64_b32", read_two<1, 64>);
  add(t, "ds_read2st64_b64", read_two<2, 64>);
  add(t, "ds_write2_b32", write_two<1, 1>);
  add(t, "ds_write2_b64", write_two<2, 1>);
  add(t, "ds_write2st64_b32", write_two<1, 64>);
  add(t, "ds_write2st64_b64", write_two<2, 64>);
  add(t, "ds_bpermute_b32", take_from_lane);
  add(t, "ds_permute_b32", give_to_lane);
  add(t, "ds_swizzle_b32", swizzle);
  add(t, "ds_append", count_lanes<1>);
  add(t, "ds_consume", count_lanes<-1>);
  add(t, "ds_nop", [](Wave&, const Op&) {});
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
