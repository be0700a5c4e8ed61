// Integer arithmetic on all lanes.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

i32 signed24(u32 x) { return static_cast<i32>(x << 8) >> 8; }

// Sums with carries: f gives 64 bits, of which bit 32 is the carry.
template <bool takes_carry, class F>
void apply_carry(Wave& w, const Op& op) {
  alignas(64) u8 carries[kLanes];
  const u64 in = takes_carry ? scalar64(w, op, op.src[2]) : 0;
  const bool clamps = op.mods.clamp;
  const bool is_difference = (F{}(0, 1, 0) | F{}(1, 0, 0)) >> 63;
  const u64 mask = store_computed<u32, u32, u32>(w, op, [&](int lane, u32 a, u32 b) {
    const u64 sum = F{}(u64{a}, u64{b}, in >> lane & 1);
    carries[lane] = static_cast<u8>(sum >> 32 & 1);
    if (clamps && carries[lane]) return is_difference ? 0 : ~u32{0};
    return static_cast<u32>(sum);
  });
  w.set64(op.sdst, packed_bits(carries) & mask);
}
template <bool takes_carry, class F>
Handler with_carry(F) {
  return [](Wave& w, const Op& op) { apply_carry<takes_carry, F>(w, op); };
}

// a * b + c in 64 bits, with the carry as a lane mask.
template <class T, class Wide>
void multiply_add(Wave& w, const Op& op) {
  alignas(64) u8 carries[kLanes];
  const bool clamps = op.mods.clamp;
  const u64 mask = store_computed<u64, T, T, Wide>(w, op, [&](int lane, T a, T b, Wide c) {
    constexpr bool is_signed = Wide(-1) < Wide(0);
    const u64 product = static_cast<u64>(Wide{a} * Wide{b}), summand = static_cast<u64>(c),
              sum = product + summand;
    carries[lane] = is_signed ? ((product ^ sum) & (summand ^ sum)) >> 63 : sum < product;
    if (!clamps || !carries[lane]) return sum;
    constexpr u64 kMost = is_signed ? ~u64{0} >> 1 : ~u64{0};
    return is_signed && product >> 63 ? ~kMost : kMost;  // with the sign of the product
  });
  w.set64(op.sdst, packed_bits(carries) & mask);
}

// Sums of three sources; `exact` computes them in 64 bits, which clamp saturates to the range of R.
template <class F, class Exact, HighHalf high, class R, class A, class B, class C>
Handler saturating_of(R (F::*)(A, B, C) const) {
  return apply_either<F, Exact, high, R, A, B, C>;
}
template <HighHalf high = HighHalf::kCleared, class F, class Exact>
Handler saturating(F, Exact) {
  return saturating_of<F, Exact, high>(&F::operator());
}

u32 byte_of(u32 x, unsigned n) { return x >> 8 * n & 255; }
u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
u32 sum_of_byte_distances(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned n = 0; n < 4; n++) sum += distance(byte_of(a, n), byte_of(b, n));
  return sum;
}
u32 masked_byte_distances(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned n = 0; n < 4; n++)
    sum += byte_of(b, n) ? distance(byte_of(a, n), byte_of(b, n)) : 0;
  return sum;
}
// A byte of a or b, a sign, or a constant: without branches, for vectorisation.
u32 permuted_byte(u32 a, u32 b, u32 selector) {
  const u32 from = selector & 4 ? a : b, byte = from >> 8 * (selector & 3) & 0xff;
  const u32 signs = selector & 2 ? a : b;
  const u32 of_sign = 0 - (signs >> (selector & 1 ? 31 : 15) & 1);
  const u32 special = selector < 12 ? of_sign : selector == 12 ? 0 : ~u32{0};
  return selector < 8 ? byte : special & 0xff;
}

void add_sums(Table& t) {
  add(t, "v_add_u32", clamped<u32>([](i64 a, i64 b) { return a + b; }));
  add(t, "v_sub_u32", clamped<u32>([](i64 a, i64 b) { return a - b; }));
  add(t, "v_subrev_u32", clamped<u32>([](i64 a, i64 b) { return b - a; }));
  add(t, "v_add_i32", clamped<i32>([](i64 a, i64 b) { return a + b; }));
  add(t, "v_sub_i32", clamped<i32>([](i64 a, i64 b) { return a - b; }));
  add(t, "v_add_u16", clamped<u16>([](i64 a, i64 b) { return a + b; }));
  add(t, "v_sub_u16", clamped<u16>([](i64 a, i64 b) { return a - b; }));
  add(t, "v_subrev_u16", clamped<u16>([](i64 a, i64 b) { return b - a; }));
  add(t, "v_add_i16", clamped<i16, HighHalf::kKept>([](i64 a, i64 b) { return a + b; }));
  add(t, "v_sub_i16", clamped<i16, HighHalf::kKept>([](i64 a, i64 b) { return a - b; }));
  add(t, "v_add_co_u32", with_carry<false>([](u64 a, u64 b, u64) { return a + b; }));
  add(t, "v_sub_co_u32", with_carry<false>([](u64 a, u64 b, u64) { return a - b; }));
  add(t, "v_subrev_co_u32", with_carry<false>([](u64 a, u64 b, u64) { return b - a; }));
  add(t, "v_addc_co_u32", with_carry<true>([](u64 a, u64 b, u64 c) { return a + b + c; }));
  add(t, "v_subb_co_u32", with_carry<true>([](u64 a, u64 b, u64 c) { return a - b - c; }));
  add(t, "v_subbrev_co_u32", with_carry<true>([](u64 a, u64 b, u64 c) { return b - a - c; }));
  add(t, "v_mad_u64_u32", multiply_add<u32, u64>);
  add(t, "v_mad_i64_i32", multiply_add<i32, i64>);
}

void add_products(Table& t) {
  add(t, "v_mul_lo_u32", lanes([](u32 a, u32 b) { return a * b; }));
  add(t, "v_mul_hi_u32", lanes([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }));
  add(t, "v_mul_hi_i32", lanes([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }));
  add(t, "v_mul_lo_u16", lanes([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }));
  add(t, "v_mul_i32_i24", lanes([](u32 a, u32 b) {
        return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b));
      }));
  add(t, "v_mul_hi_i32_i24",
      lanes([](u32 a, u32 b) { return static_cast<u32>(i64{signed24(a)} * signed24(b) >> 32); }));
  add(t, "v_mul_u32_u24", lanes([](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }));
  add(t, "v_mul_hi_u32_u24", lanes([](u32 a, u32 b) {
        return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32);
      }));
  constexpr auto product_sum = [](i64 a, i64 b, i64 c) { return a * b + c; };
  add(t, "v_mad_i32_i24",
      saturating(
          [](u32 a, u32 b, i32 c) {
            return static_cast<i32>(static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) +
                                    static_cast<u32>(c));
          },
          [](u32 a, u32 b, i32 c) { return i64{signed24(a)} * i64{signed24(b)} + c; }));
  add(t, "v_mad_u32_u24",
      saturating([](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; },
                 [](u32 a, u32 b, u32 c) { return i64{a & 0xffffff} * i64{b & 0xffffff} + c; }));
  add(t, "v_mad_u32_u16",
      saturating([](u16 a, u16 b, u32 c) { return u32{a} * b + c; }, product_sum));
  add(t, "v_mad_i32_i16",
      saturating(
          [](i16 a, i16 b, i32 c) {
            return static_cast<i32>(static_cast<u32>(i32{a} * b) + static_cast<u32>(c));
          },
          product_sum));
  constexpr auto unsigned16 = [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); };
  constexpr auto signed16 = [](i16 a, i16 b, i16 c) { return static_cast<i16>(i32{a} * b + c); };
  add(t, "v_mad_u16", saturating<HighHalf::kKept>(unsigned16, product_sum));
  add(t, "v_mad_i16", saturating<HighHalf::kKept>(signed16, product_sum));
  add(t, "v_mad_legacy_u16", saturating(unsigned16, product_sum));
  add(t, "v_mad_legacy_i16", saturating(signed16, product_sum));
}

void add_bits(Table& t) {
  add(t, "v_mov_b32", lanes([](u32 a) { return a; }));
  add(t, "v_not_b32", lanes([](u32 a) { return ~a; }));
  add(t, "v_and_b32", lanes([](u32 a, u32 b) { return a & b; }));
  add(t, "v_or_b32", lanes([](u32 a, u32 b) { return a | b; }));
  add(t, "v_xor_b32", lanes([](u32 a, u32 b) { return a ^ b; }));
  add(t, "v_xnor_b32", lanes([](u32 a, u32 b) { return ~(a ^ b); }));
  add(t, "v_lshlrev_b32", lanes([](u32 a, u32 b) { return b << (a & 31); }));
  add(t, "v_lshrrev_b32", lanes([](u32 a, u32 b) { return b >> (a & 31); }));
  add(t, "v_ashrrev_i32", lanes([](u32 a, i32 b) { return b >> (a & 31); }));
  add(t, "v_lshlrev_b16", lanes([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }));
  add(t, "v_lshrrev_b16", lanes([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }));
  add(t, "v_ashrrev_i16", lanes([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }));
  add(t, "v_lshlrev_b64", lanes([](u32 a, u64 b) { return b << (a & 63); }));
  add(t, "v_lshrrev_b64", lanes([](u32 a, u64 b) { return b >> (a & 63); }));
  add(t, "v_ashrrev_i64", lanes([](u32 a, i64 b) { return b >> (a & 63); }));
  add(t, "v_bfrev_b32", lanes([](u32 a) {
        a = (a & 0x55555555) << 1 | (a >> 1 & 0x55555555);
        a = (a & 0x33333333) << 2 | (a >> 2 & 0x33333333);
        a = (a & 0x0f0f0f0f) << 4 | (a >> 4 & 0x0f0f0f0f);
        return __builtin_bswap32(a);
      }));
  add(t, "v_ffbh_u32", lanes([](u32 a) { return a ? __builtin_clz(a) : -1; }));
  add(t, "v_ffbl_b32", lanes([](u32 a) { return a ? __builtin_ctz(a) : -1; }));
  add(t, "v_ffbh_i32", lanes([](u32 a) {
        const u32 x = static_cast<i32>(a) < 0 ? ~a : a;
        return x ? __builtin_clz(x) : -1;
      }));
  add(t, "v_bcnt_u32_b32",
      lanes([](u32 a, u32 b) { return static_cast<u32>(__builtin_popcount(a)) + b; }));
  add(t, "v_bfm_b32", lanes([](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); }));
  add(t, "v_bfe_u32",
      lanes([](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1U << (c & 31)) - 1); }));
  add(t, "v_bfe_i32", lanes([](i32 a, u32 b, u32 c) {
        const u32 width = c & 31, part = static_cast<u32>(a >> (b & 31));
        const u32 cut = 32 - width;
        return width ? static_cast<i32>(part << (cut & 31)) >> (cut & 31) : 0;
      }));
  add(t, "v_bfi_b32", lanes([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }));
  add(t, "v_alignbit_b32",
      lanes([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }));
  add(t, "v_alignbyte_b32", lanes([](u32 a, u32 b, u32 c) {
        return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3));
      }));
  add(t, "v_perm_b32", lanes([](u32 a, u32 b, u32 c) {
        return permuted_byte(a, b, byte_of(c, 0)) | permuted_byte(a, b, byte_of(c, 1)) << 8 |
               permuted_byte(a, b, byte_of(c, 2)) << 16 | permuted_byte(a, b, byte_of(c, 3)) << 24;
      }));
}

template <class F>
void add_distance(Table& t, const char* name, F) {
  add(t, name,
      saturating([](u32 a, u32 b, u32 c) { return F{}(a, b) + c; },
                 [](u32 a, u32 b, u32 c) { return i64{F{}(a, b)} + c; }));
}

void add_three(Table& t) {
  add(t, "v_add3_u32", lanes([](u32 a, u32 b, u32 c) { return a + b + c; }));
  add(t, "v_lshl_add_u32", lanes([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }));
  add(t, "v_add_lshl_u32", lanes([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }));
  add(t, "v_lshl_or_b32", lanes([](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }));
  add(t, "v_and_or_b32", lanes([](u32 a, u32 b, u32 c) { return (a & b) | c; }));
  add(t, "v_or3_b32", lanes([](u32 a, u32 b, u32 c) { return a | b | c; }));
  add(t, "v_xad_u32", lanes([](u32 a, u32 b, u32 c) { return (a ^ b) + c; }));
  add_distance(t, "v_sad_u32", [](u32 a, u32 b) { return distance(a, b); });
  add_distance(t, "v_sad_u16", [](u32 a, u32 b) {
    return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
  });
  add_distance(t, "v_sad_u8", [](u32 a, u32 b) { return sum_of_byte_distances(a, b); });
  add_distance(t, "v_sad_hi_u8", [](u32 a, u32 b) { return sum_of_byte_distances(a, b) << 16; });
  add_distance(t, "v_msad_u8", [](u32 a, u32 b) { return masked_byte_distances(a, b); });
  add(t, "v_lerp_u8", lanes([](u32 a, u32 b, u32 c) {
        u32 made = 0;
        for (unsigned n = 0; n < 4; n++)
          made |= ((byte_of(a, n) + byte_of(b, n) + (c >> 8 * n & 1)) >> 1) << 8 * n;
        return made;
      }));
}

template <class T>
void add_extremes(Table& t, const char* of) {
  add(t, "v_min_", of, lanes([](T a, T b) { return a < b ? a : b; }));
  add(t, "v_max_", of, lanes([](T a, T b) { return a > b ? a : b; }));
  constexpr auto kept = sizeof(T) == 2 ? HighHalf::kKept : HighHalf::kCleared;
  add(t, "v_min3_", of, lanes<kept>([](T a, T b, T c) {
        const T m = a < b ? a : b;
        return m < c ? m : c;
      }));
  add(t, "v_max3_", of, lanes<kept>([](T a, T b, T c) {
        const T m = a > b ? a : b;
        return m > c ? m : c;
      }));
  add(t, "v_med3_", of, lanes<kept>([](T a, T b, T c) {
        const T low = a < b ? a : b, high = a < b ? b : a, m = c < high ? c : high;
        return m > low ? m : low;
      }));
}

}  // namespace

void add_integer(Table& table) {
  add_sums(table);
  add_products(table);
  add_bits(table);
}

void add_integer_three(Table& table) {
  add_three(table);
  add_extremes<u32>(table, "u32");
  add_extremes<i32>(table, "i32");
  add_extremes<u16>(table, "u16");
  add_extremes<i16>(table, "i16");
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
