// LDS instructions that compilers do not emit.
#include "isa/atomics.h"
#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// A dword per lane, at M0 plus the offset.
Place place_by_lane(const Wave& w, const Op& op, int lane) {
  const u32 base = (w.s[sonde::gpu::kM0] & 0xffff) + static_cast<u32>(op.mods.offset);
  return lds_place(w, base + 4 * static_cast<u32>(lane), 4);
}

void subtract_or_add(Wave& w, const Op& op) {  // ds_wrap: memory >= first ? - first : + second
  const unsigned first_row = op.src[1] - kFirstVgpr, second_row = op.src[2] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    const u32 address = w.v[op.src[0] - kFirstVgpr][l] + static_cast<u32>(op.mods.offset);
    const Place place = lds_place(w, address & ~u32{3}, 4);
    const u32 first = w.v[first_row][l], second = w.v[second_row][l];
    u32 old = 0;
    if (place.exists()) {
      old = exchange<u32>(place.p, [=](u32 x) { return x >= first ? x - first : x + second; });
    }
    w.v[op.dst][l] = old;
  });
}

// Writes each of two dwords whose highest bit is set, without that bit.
void exchange_marked(Wave& w, const Op& op) {
  const unsigned row = op.src[1] - kFirstVgpr;
  each(w.exec(), [&](int l) {
    const u32 address = w.v[op.src[0] - kFirstVgpr][l] + static_cast<u32>(op.mods.offset);
    const Place place = lds_place(w, address & ~u32{7}, 8);
    const u64 given = lane_value<u64>(w, row, l);
    u64 old = 0;
    if (place.exists()) {
      old = exchange<u64>(place.p, [given](u64 x) {
        constexpr u64 kLow = 0x7fffffff, kLower = 0xffffffff;
        if (given >> 31 & 1) x = (x & ~kLower) | (given & kLow);
        if (given >> 63) x = (x & kLower) | (given & kLow << 32);
        return x;
      });
    }
    set_lane_value(w, op.dst, l, old);
  });
}

// With a second address instead of a register: the distance in dwords is the offset or, if bit 15
// of the offset is set, the upper bits of the address.
template <class T, class F>
void with_second_place(Wave& w, const Op& op) {
  each(w.exec(), [&](int l) {
    const u32 first = w.v[op.src[0] - kFirstVgpr][l], offset = static_cast<u32>(op.mods.offset);
    const i32 dwords =
        offset & 0x8000 ? static_cast<i32>(first) >> 17 : static_cast<i32>(offset << 17) >> 17;
    const u32 own = first & 0x1ffff & ~u32{sizeof(T) - 1};
    const u32 other = own + static_cast<u32>(dwords) * 4;
    const Place place = lds_place(w, own, sizeof(T)), second = lds_place(w, other, sizeof(T));
    if (!place.exists()) return;
    T value = 0;
    if (second.exists()) __builtin_memcpy(&value, second.p, sizeof(T));
    exchange<T>(place.p, [value](T x) { return F{}(x, value); });
  });
}

}  // namespace

void add_lds_rare(Table& t) {
  add(t, "ds_write_addtid_b32", [](Wave& w, const Op& op) {
    const unsigned row = op.src[1] - kFirstVgpr;
    each(w.exec(),
         [&](int l) { store_lane<u32, 1, Into::kWhole>(w, row, l, place_by_lane(w, op, l)); });
  });
  add(t, "ds_read_addtid_b32", [](Wave& w, const Op& op) {
    each(w.exec(),
         [&](int l) { load_lane<u32, 1, Into::kWhole>(w, op.dst, l, place_by_lane(w, op, l)); });
  });
  add(t, "ds_wrap_rtn_b32", subtract_or_add);
  add(t, "ds_condxchg32_rtn_b64", exchange_marked);
  const auto make = [&]<class T, class F>(const char* name, const char* type, F) {
    add(t, {"ds_", name, "_src2_", type}, with_second_place<T, F>);
  };
  each_lds_atomic(make);
  const auto second = [](auto, auto y) { return y; };
  make.operator()<u32>("write", "b32", second);
  make.operator()<u64>("write", "b64", second);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
