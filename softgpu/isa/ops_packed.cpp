// Packed instructions: on two 16-bit numbers in a register, or two 32-bit numbers in a register
// pair. op_sel selects each source's half for the lower result, op_sel_hi for the upper.
#include "isa/extremes.h"
#include "isa/half.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

// A source of packed halves, as 64 words.
struct Words {
  const u32* p;
  alignas(64) u32 own[kLanes];

  Words(const Wave& w, const Op& op, int which, bool is_float) {
    const unsigned n = op.src[which];
    p = own;
    if (n >= kFirstVgpr) {
      p = w.v[n - kFirstVgpr];
      return;
    }
    const bool is_constant = n >= sonde::gpu::kHalf && n < sonde::gpu::kHalf + 9;
    const u32 value = is_float && is_constant ? half_constant(w, op, n).bits : scalar(w, op, n);
    for (u32& each_own : own) each_own = value;
  }
};

struct Choice {
  int shift;
  u16 flip;  // flips the sign
};
Choice choice_of(const Op& op, int which, bool is_upper) {
  const u8 selected = is_upper ? op.mods.op_sel_hi : op.mods.op_sel;
  const u8 negated = is_upper ? op.mods.neg_hi : op.mods.neg;
  return {selected >> which & 1 ? 16 : 0, static_cast<u16>(negated >> which & 1 ? 0x8000 : 0)};
}

template <class T>
[[gnu::always_inline]] inline T part(u32 word, Choice choice) {
  return static_cast<T>(static_cast<u16>(word >> choice.shift));
}

// For halves, f computes an f32, which is rounded to f16 here.
template <int sources, class F>
void packed_halves(Wave& w, const Op& op) {
  const Words a(w, op, 0, true), b(w, op, 1, true), c(w, op, sources == 3 ? 2 : 1, true);
  alignas(64) u32 out[kLanes];
  alignas(64) f32 in[3][kLanes], made[kLanes];
  alignas(64) u16 halves[kLanes];
  for (int upper = 0; upper < 2; upper++) {
    const Choice x = choice_of(op, 0, upper), y = choice_of(op, 1, upper),
                 z = choice_of(op, 2, upper);
    widen(w, a.p, x.shift, x.flip, in[0]);
    widen(w, b.p, y.shift, y.flip, in[1]);
    if (sources == 3) widen(w, c.p, z.shift, z.flip, in[2]);
    for (int l = 0; l < kLanes; l++) made[l] = F{}(in[0][l], in[1][l], in[sources - 1][l]);
    if (op.mods.clamp) {
      for (f32& value : made) value = to_unit(value, keeps_nan(w));
    }
    narrow(w, made, halves);
    for (int l = 0; l < kLanes; l++) out[l] = upper ? out[l] | u32{halves[l]} << 16 : halves[l];
  }
  store_row(w, op.dst, out, w.exec());
}

template <class F>
void packed_extremes(Wave& w, const Op& op) {
  const Words a(w, op, 0, true), b(w, op, 1, true);
  const ExtremeRules rules = extreme_rules<Half>(w);
  alignas(64) u32 out[kLanes];
  for (int upper = 0; upper < 2; upper++) {
    const Choice x = choice_of(op, 0, upper), y = choice_of(op, 1, upper);
    for (int l = 0; l < kLanes; l++) {
      Half made = F{}(rules, Half(static_cast<u16>(a.p[l] >> x.shift ^ x.flip)),
                      Half(static_cast<u16>(b.p[l] >> y.shift ^ y.flip)));
      if (op.mods.clamp) made = Half(to_unit(f32(made), keeps_nan(w)));
      out[l] = upper ? out[l] | u32{made.bits} << 16 : made.bits;
    }
  }
  store_row(w, op.dst, out, w.exec());
}

template <class T, int sources, class F>
void packed(Wave& w, const Op& op) {
  const Words a(w, op, 0, false), b(w, op, 1, false), c(w, op, sources == 3 ? 2 : 1, false);
  constexpr bool is_signed = T(-1) < T(0);
  constexpr i64 most = is_signed ? 32767 : 65535, least = is_signed ? -32768 : 0;
  alignas(64) u32 out[kLanes];
  for (int upper = 0; upper < 2; upper++) {
    const Choice x = choice_of(op, 0, upper), y = choice_of(op, 1, upper),
                 z = choice_of(op, 2, upper);
    for (int l = 0; l < kLanes; l++) {
      const T d = part<T>(a.p[l], x), e = part<T>(b.p[l], y), f = part<T>(c.p[l], z);
      u32 made = static_cast<u16>(F{}(i32{d}, i32{e}, i32{f}));
      if (op.mods.clamp) {
        const i64 exact = F{}(i64{d}, i64{e}, i64{f});
        made = static_cast<u16>(exact < least ? least : exact > most ? most : exact);
      }
      out[l] = upper ? (out[l] & 0xffff) | made << 16 : made;
    }
  }
  store_row(w, op.dst, out, w.exec());
}
template <class T, int sources, class F>
Handler pair_of(F) {
  return packed<T, sources, F>;
}
template <int sources, class F>
Handler halves_of(F) {
  return packed_halves<sources, F>;
}

// 32-bit numbers: a VGPR or SGPR pair; a constant is the same for both.
template <class T, int sources, class F>
void packed_wide(Wave& w, const Op& op) {
  alignas(64) T out[2][kLanes];
  alignas(64) T in[3][kLanes];
  for (unsigned upper = 0; upper < 2; upper++) {
    for (int which = 0; which < sources; which++) {
      const unsigned n = op.src[which];
      const bool takes_upper = (upper ? op.mods.op_sel_hi : op.mods.op_sel) >> which & 1;
      const bool is_negated = (upper ? op.mods.neg_hi : op.mods.neg) >> which & 1;
      const u32 flip = kIsFloat<T> && is_negated ? 0x80000000 : 0;
      if (n >= kFirstVgpr) {
        const u32* row = w.v[(n - kFirstVgpr + takes_upper) & 511];
        for (int l = 0; l < kLanes; l++) in[which][l] = as<T>(row[l] ^ flip);
      } else {
        const u32 value = n < 128 ? w.s[n + takes_upper] : scalar(w, op, n);
        for (int l = 0; l < kLanes; l++) in[which][l] = as<T>(value ^ flip);
      }
    }
    for (int l = 0; l < kLanes; l++) out[upper][l] = F{}(in[0][l], in[1][l], in[2][l]);
    if (kIsFloat<T> && op.mods.clamp) {
      for (int l = 0; l < kLanes; l++) out[upper][l] = to_unit(out[upper][l], keeps_nan(w));
    }
  }
  store_row(w, op.dst, reinterpret_cast<u32*>(out[0]), w.exec());
  store_row(w, op.dst + 1U, reinterpret_cast<u32*>(out[1]), w.exec());
}
// v_pk_mov_b32 takes the lower result from the first source and the upper from the second.
void move_two(Wave& w, const Op& op) {
  alignas(64) u32 out[2][kLanes];
  for (int which = 0; which < 2; which++) {
    const unsigned n = op.src[which], upper = op.mods.op_sel >> which & 1;
    if (n >= kFirstVgpr) {
      const u32* row = w.v[(n - kFirstVgpr + upper) & 511];
      for (int l = 0; l < kLanes; l++) out[which][l] = row[l];
    } else {
      const u32 value = n < 128 ? w.s[n + upper] : scalar(w, op, n);
      for (int l = 0; l < kLanes; l++) out[which][l] = value;
    }
  }
  store_row(w, op.dst, out[0], w.exec());
  store_row(w, op.dst + 1U, out[1], w.exec());
}

// v_fma_mix: each source is an f32, or a half of one if op_sel_hi is set; neg_hi means the absolute
// value.
enum class MixResult : u8 { kSingle, kLow, kHigh };
template <MixResult result>
void mix(Wave& w, const Op& op) {
  alignas(64) f32 in[3][kLanes];
  for (int which = 0; which < 3; which++) {
    const bool is_half = op.mods.op_sel_hi >> which & 1;
    const Words words(w, op, which, is_half);
    const int shift = op.mods.op_sel >> which & 1 ? 16 : 0;
    for (int l = 0; l < kLanes; l++) {
      f32 value = is_half ? f32(Half(static_cast<u16>(words.p[l] >> shift))) : as<f32>(words.p[l]);
      if (op.mods.neg_hi >> which & 1) value = __builtin_fabsf(value);
      in[which][l] = op.mods.neg >> which & 1 ? -value : value;
    }
  }
  alignas(64) u32 out[kLanes];
  for (int l = 0; l < kLanes; l++) {
    f32 value = __builtin_fmaf(in[0][l], in[1][l], in[2][l]);
    if (op.mods.clamp) value = to_unit(value, keeps_nan(w));
    const u32 old = w.v[op.dst][l];
    if (result == MixResult::kSingle) out[l] = as<u32>(value);
    if (result == MixResult::kLow) out[l] = (old & 0xffff0000) | Half(value).bits;
    if (result == MixResult::kHigh) out[l] = (old & 0xffff) | u32{Half(value).bits} << 16;
  }
  store_row(w, op.dst, out, w.exec());
}

struct ProductSum {
  i32 operator()(i32 a, i32 b, i32 c) const {  // the lowest bits of the product
    return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
  }
  i64 operator()(i64 a, i64 b, i64 c) const { return a * b + c; }
};

template <class T>
void add_integers(Table& t, const char* of) {
  add(t, "v_pk_mad_", of, packed<T, 3, ProductSum>);
  add(t, "v_pk_add_", of, pair_of<T, 2>([](auto a, auto b, auto) { return a + b; }));
  add(t, "v_pk_sub_", of, pair_of<T, 2>([](auto a, auto b, auto) { return a - b; }));
  add(t, "v_pk_max_", of, pair_of<T, 2>([](auto a, auto b, auto) { return a > b ? a : b; }));
  add(t, "v_pk_min_", of, pair_of<T, 2>([](auto a, auto b, auto) { return a < b ? a : b; }));
}

}  // namespace

void add_packed(Table& t) {
  add_integers<i16>(t, "i16");
  add_integers<u16>(t, "u16");
  add(t, "v_pk_mul_lo_u16", pair_of<u16, 2>([](i32 a, i32 b, i32) {
        return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b));
      }));
  add(t, "v_pk_lshlrev_b16", pair_of<u16, 2>([](auto a, auto b, auto) { return b << (a & 15); }));
  add(t, "v_pk_lshrrev_b16", pair_of<u16, 2>([](auto a, auto b, auto) { return b >> (a & 15); }));
  add(t, "v_pk_ashrrev_i16", pair_of<i16, 2>([](auto a, auto b, auto) { return b >> (a & 15); }));
  add(t, "v_pk_add_f16", halves_of<2>([](f32 a, f32 b, f32) { return a + b; }));
  add(t, "v_pk_mul_f16", halves_of<2>([](f32 a, f32 b, f32) { return a * b; }));
  add(t, "v_pk_min_f16", packed_extremes<Least>);
  add(t, "v_pk_max_f16", packed_extremes<Most>);
  add(t, "v_pk_fma_f16",
      halves_of<3>([](f32 a, f32 b, f32 c) { return odd_sum(f64{a} * f64{b}, f64{c}); }));
  add(t, "v_pk_fmac_f16", [](Wave& w, const Op& op) {  // VOP2: does not select halves
    Op with = op;
    with.src[2] = static_cast<uint16_t>(op.dst + kFirstVgpr);
    with.mods.op_sel_hi = 7;
    packed_halves<3, decltype([](f32 a, f32 b, f32 c) {
                    return odd_sum(f64{a} * f64{b}, f64{c});
                  })>(w, with);
  });
  add(t, "v_pk_add_f32", packed_wide<f32, 2, decltype([](f32 a, f32 b, f32) { return a + b; })>);
  add(t, "v_pk_mul_f32", packed_wide<f32, 2, decltype([](f32 a, f32 b, f32) { return a * b; })>);
  add(t, "v_pk_fma_f32",
      packed_wide<f32, 3, decltype([](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); })>);
  add(t, "v_pk_mov_b32", move_two);
  add(t, "v_fma_mix_f32", mix<MixResult::kSingle>);
  add(t, "v_fma_mixlo_f16", mix<MixResult::kLow>);
  add(t, "v_fma_mixhi_f16", mix<MixResult::kHigh>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
