// Dot products: sums of two, four or eight products of parts of a register. Floating-point products
// are summed in f64 and rounded once.
#include "isa/half.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

template <int bits, bool is_signed>
i64 element(u32 word, int n) {
  const u32 high = word << (32 - bits - n * bits);
  return is_signed ? i64{static_cast<i32>(high) >> (32 - bits)} : i64{high >> (32 - bits)};
}

// Selected by op_sel and op_sel_hi.
struct Halves {
  u32 low = 0, high = 3;
};

template <int bits, bool is_signed>
void integer_dot(Wave& w, const Op& op, Halves halves) {
  u64 mask = w.exec();
  const Source<u32> a(w, op, 0, mask, false);
  const Source<u32> b(w, op, 1, mask, false);
  const Source<u32> c(w, op, 2, mask, false);
  alignas(64) u32 out[kLanes];
  constexpr i64 kMost = is_signed ? 0x7fffffff : 0xffffffff, kLeast = is_signed ? -kMost - 1 : 0;
  int chosen[2][32 / bits];  // parts of a, and of b
  for (int which = 0; which < 2; which++) {
    for (int n = 0; n < 32 / bits; n++)
      chosen[which][n] = bits == 16 ? (n ? halves.high : halves.low) >> which & 1 : n;
  }
  for (int l = 0; l < kLanes; l++) {
    i64 sum = is_signed ? i64{static_cast<i32>(c[l])} : i64{c[l]};
    for (int n = 0; n < 32 / bits; n++)
      sum += element<bits, is_signed>(a[l], chosen[0][n]) *
             element<bits, is_signed>(b[l], chosen[1][n]);
    if (op.mods.clamp) sum = sum < kLeast ? kLeast : sum > kMost ? kMost : sum;
    out[l] = static_cast<u32>(sum);
  }
  store_row(w, op.dst, out, mask);
}

// op_sel has another meaning here than in Source: it selects the half for each of two products; for
// smaller parts there is no selection.
Op without_choice(const Op& op) {
  Op with = op;
  with.mods.op_sel = 0;
  return with;
}
template <int bits, bool is_signed>
void integer_dot_chosen(Wave& w, const Op& op) {
  integer_dot<bits, is_signed>(w, without_choice(op), {op.mods.op_sel, op.mods.op_sel_hi});
}
template <int bits, bool is_signed>
void integer_dot_into(Wave& w, const Op& op) {  // d += a . b
  Op with = without_choice(op);
  with.src[2] = static_cast<uint16_t>(op.dst + kFirstVgpr);
  integer_dot<bits, is_signed>(w, with, {});
}

void half_dot(Wave& w, const Op& op, bool has_choice) {
  const Op plain = without_choice(op);
  u64 mask = w.exec();
  const Source<u32> a(w, plain, 0, mask, false);
  const Source<u32> b(w, plain, 1, mask, false);
  const Source<f32> c(w, plain, 2, mask);
  const u8 low = has_choice ? op.mods.op_sel : 0, high = has_choice ? op.mods.op_sel_hi : 3;
  const u8 neg_low = has_choice ? op.mods.neg : 0, neg_high = has_choice ? op.mods.neg_hi : 0;
  alignas(64) f32 x[2][kLanes], y[2][kLanes];
  const auto flip = [](bool is_negated) { return static_cast<u16>(is_negated ? 0x8000 : 0); };
  widen(w, a.p, low & 1 ? 16 : 0, flip(neg_low & 1), x[0]);
  widen(w, b.p, low & 2 ? 16 : 0, flip(neg_low & 2), y[0]);
  widen(w, a.p, high & 1 ? 16 : 0, flip(neg_high & 1), x[1]);
  widen(w, b.p, high & 2 ? 16 : 0, flip(neg_high & 2), y[1]);
  alignas(64) u32 out[kLanes];
  for (int l = 0; l < kLanes; l++) {
    const f64 sum = f64{x[0][l]} * f64{y[0][l]} + f64{x[1][l]} * f64{y[1][l]};
    f32 made = static_cast<f32>(sum + f64{c[l]});
    if (op.mods.clamp) made = to_unit(made, keeps_nan(w));
    out[l] = as<u32>(made);
  }
  store_row(w, op.dst, out, mask);
}

}  // namespace

void add_dot(Table& t) {
  add(t, "v_dot2_f32_f16", [](Wave& w, const Op& op) { half_dot(w, op, true); });
  add(t, "v_dot2c_f32_f16", [](Wave& w, const Op& op) {
    Op with = op;
    with.src[2] = static_cast<uint16_t>(op.dst + kFirstVgpr);
    half_dot(w, with, false);
  });
  add(t, "v_dot2_i32_i16", integer_dot_chosen<16, true>);
  add(t, "v_dot2_u32_u16", integer_dot_chosen<16, false>);
  add(t, "v_dot4_i32_i8", integer_dot_chosen<8, true>);
  add(t, "v_dot4_u32_u8", integer_dot_chosen<8, false>);
  add(t, "v_dot8_i32_i4", integer_dot_chosen<4, true>);
  add(t, "v_dot8_u32_u4", integer_dot_chosen<4, false>);
  add(t, "v_dot2c_i32_i16", integer_dot_into<16, true>);
  add(t, "v_dot4c_i32_i8", integer_dot_into<8, true>);
  add(t, "v_dot8c_i32_i4", integer_dot_into<4, true>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
