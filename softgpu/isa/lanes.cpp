#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

constexpr f64 kConstants[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};

// The lane that a DPP operand comes from, or -1.
constexpr int source_lane(unsigned control, int lane) {
  const int row = lane & ~15, in_row = lane & 15, amount = static_cast<int>(control & 15);
  if (control <= 0xff) return (lane & ~3) | static_cast<int>(control >> (lane & 3) * 2 & 3);
  switch (control & 0x1f0) {
    case 0x100:  // row_shl
      return in_row + amount < 16 ? lane + amount : -1;
    case 0x110:  // row_shr
      return in_row >= amount ? lane - amount : -1;
    case 0x120:  // row_ror
      return row | ((in_row - amount) & 15);
    case 0x150:  // row_newbcast
      return row | amount;
  }
  switch (control) {
    case 0x130:  // wave_shl
      return lane < 63 ? lane + 1 : -1;
    case 0x134:  // wave_rol
      return (lane + 1) & 63;
    case 0x138:  // wave_shr
      return lane - 1;
    case 0x13c:  // wave_ror
      return (lane - 1) & 63;
    case 0x140:  // row_mirror
      return row | (15 - in_row);
    case 0x141:  // row_half_mirror
      return (lane & ~7) | (7 - (lane & 7));
    case 0x142:  // row_bcast:15
      return row != 0 ? row - 1 : -1;
    case 0x143:  // row_bcast:31
      return lane >= 32 ? 31 : -1;
  }
  return lane;
}
// The same for each control, precomputed.
struct SourceLanes {
  i8 of[0x200][kLanes];
  constexpr SourceLanes() : of{} {
    for (unsigned control = 0; control < 0x200; control++) {
      for (int l = 0; l < kLanes; l++) of[control][l] = static_cast<i8>(source_lane(control, l));
    }
  }
};
constexpr SourceLanes kSourceLanes;

// The lanes in writable rows and banks of four.
u64 writable_lanes(unsigned row_mask, unsigned bank_mask) {
  u64 in_row = 0, made = 0;
  for (unsigned bank = 0; bank < 4; bank++) in_row |= (bank_mask >> bank & 1) * u64{15} << 4 * bank;
  for (unsigned row = 0; row < 4; row++) made |= (row_mask >> row & 1) * in_row << 16 * row;
  return made;
}

}  // namespace

u64 wide_constant(const Wave& w, const Op& op, unsigned n, WideKind kind) {
  const bool is_float = kind == WideKind::kFloat;
  if (n <= 208) return static_cast<u64>(i64{static_cast<i32>(w.s[n])});
  // A fraction has 64 bits in bitwise and integer instructions, too.
  if (n >= sonde::gpu::kHalf && n < sonde::gpu::kHalf + 9) {
    return as<u64>(kConstants[n - sonde::gpu::kHalf]);
  }
  if (n == sonde::gpu::kLiteral) {
    if (is_float) return u64{op.literal} << 32;
    return kind == WideKind::kSigned ? static_cast<u64>(i64{static_cast<i32>(op.literal)})
                                     : u64{op.literal};
  }
  // An aperture is an address whose lower half is zero.
  if (n >= sonde::gpu::kSharedBase && n < sonde::gpu::kSharedBase + 4) return u64{w.s[n]} << 32;
  return scalar(w, op, n);
}

Half half_constant(const Wave& w, const Op& op, unsigned n) {
  if (n >= sonde::gpu::kHalf && n < sonde::gpu::kHalf + 9) {
    return Half(static_cast<f32>(kConstants[n - sonde::gpu::kHalf]));
  }
  return Half(static_cast<u16>(scalar(w, op, n)));
}

void select_part(unsigned selection, bool is_signed, const u32* from, u32* to) {
  const bool is_byte = selection < 4;
  const unsigned shift = is_byte ? 8 * selection : 16 * (selection & 1), unused = is_byte ? 24 : 16;
  for (int l = 0; l < kLanes; l++) {
    const u32 high = from[l] >> shift << unused;
    to[l] = is_signed ? static_cast<u32>(static_cast<i32>(high) >> unused) : high >> unused;
  }
}

void permute(const Wave& w, const Op& op, const u32* from, u32* to, u64& mask) {
  const u64 exec = w.exec();
  const i8* const sources = kSourceLanes.of[op.mods.dpp_ctrl & 0x1ff];
  alignas(64) u8 has_value[kLanes];
  for (int l = 0; l < kLanes; l++) {
    const int source = sources[l];
    has_value[l] = source >= 0 && (exec >> (source & 63) & 1);
    to[l] = has_value[l] ? from[source & 63] : 0;
  }
  const u64 written = op.mods.bound_ctrl ? kAll : packed_bits(has_value);
  mask &= written & writable_lanes(op.mods.row_mask, op.mods.bank_mask);
}

void store_part(Wave& w, const Op& op, const u32* x, u64 mask, HighHalf high) {
  alignas(64) u32 made[kLanes];
  const u32* old = w.v[op.dst];
  if (op.encoding == Encoding::kSdwa && op.mods.dst_sel != 6) {
    const bool is_byte = op.mods.dst_sel < 4;
    const unsigned shift = is_byte ? 8U * op.mods.dst_sel : 16U * (op.mods.dst_sel & 1U);
    const u32 field = is_byte ? 0xff : 0xffff, sign = (field + 1) / 2;
    for (int l = 0; l < kLanes; l++) {
      const u32 part = x[l] & field;
      u32 rest = 0;
      if (op.mods.dst_unused == 2) rest = old[l] & ~(field << shift);
      if (op.mods.dst_unused == 1 && (part & sign)) rest = ~field << shift;
      made[l] = part << shift | rest;
    }
    x = made;
  } else if (op.encoding == Encoding::kPlain && (op.mods.op_sel & 8)) {
    for (int l = 0; l < kLanes; l++) made[l] = x[l] << 16 | (old[l] & 0xffff);
    x = made;
  } else if (high == HighHalf::kKept) {
    for (int l = 0; l < kLanes; l++) made[l] = (x[l] & 0xffff) | (old[l] & 0xffff0000);
    x = made;
  }
  store_row(w, op.dst, x, mask);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
