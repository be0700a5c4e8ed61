// Scalar arithmetic: SOP1, SOP2, SOPC and the SOPK that compute.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

template <class T>
T operand(const Wave& w, const Op& op, int which) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(scalar64(w, op, op.src[which], kWideKind<T>));
  } else {
    return static_cast<T>(scalar(w, op, op.src[which]));
  }
}
template <class T>
void store(Wave& w, unsigned n, T value) {
  if constexpr (sizeof(T) == 8) {
    w.set64(n, static_cast<u64>(value));
  } else {
    w.s[n] = static_cast<u32>(value);
  }
}

// f(a, b, scc): the types are those of its parameters; it sets SCC where the instruction does.
template <class F, class R, class A, class B>
Handler two_of(R (F::*)(A, B, u32&) const) {
  return [](Wave& w, const Op& op) {
    store<R>(w, op.dst, F{}(operand<A>(w, op, 0), operand<B>(w, op, 1), w.scc));
  };
}
template <class F>
Handler two(F) {
  return two_of<F>(&F::operator());
}
template <class F, class R, class A>
Handler one_of(R (F::*)(A, u32&) const) {
  return [](Wave& w, const Op& op) { store<R>(w, op.dst, F{}(operand<A>(w, op, 0), w.scc)); };
}
template <class F>
Handler one(F) {
  return one_of<F>(&F::operator());
}
template <class F, class A, class B>
Handler test_of(bool (F::*)(A, B) const) {
  return [](Wave& w, const Op& op) { w.scc = F{}(operand<A>(w, op, 0), operand<B>(w, op, 1)); };
}
template <class F>
Handler test(F) {
  return test_of<F>(&F::operator());
}
// The result of a bit operation says by SCC whether it is not zero.
template <class F, class T>
Handler logic_of(T (F::*)(T, T) const) {
  return [](Wave& w, const Op& op) {
    const T made = F{}(operand<T>(w, op, 0), operand<T>(w, op, 1));
    store<T>(w, op.dst, made);
    w.scc = made != 0;
  };
}
template <class F>
Handler logic(F) {
  return logic_of<F>(&F::operator());
}
template <class F>
Handler save_exec(F) {
  return [](Wave& w, const Op& op) {
    const u64 old = w.exec(), made = F{}(operand<u64>(w, op, 0), old);
    w.set64(op.dst, old);
    w.set64(sonde::gpu::kExec, made);
    w.scc = made != 0;
  };
}
template <class F>
Handler write_exec(F) {
  return [](Wave& w, const Op& op) {
    const u64 made = F{}(operand<u64>(w, op, 0), w.exec());
    w.set64(op.dst, made);
    w.set64(sonde::gpu::kExec, made);
    w.scc = made != 0;
  };
}
// SOPK: the register with the sign-extended immediate.
template <class F>
Handler test_immediate(F) {
  return [](Wave& w, const Op& op) { w.scc = F{}(w.s[op.dst], op.mods.immediate); };
}

u32 zero_bytes(u64 value, unsigned bits, u64& out) {  // per quad: any bit set
  out = 0;
  for (unsigned i = 0; i < bits; i += 4) out |= u64{(value >> i & 15) != 0} << i / 4;
  return out != 0;
}

template <class T, bool is_greatest>
struct Chosen {  // SCC says whether it is the first
  T operator()(T a, T b, u32& scc) const {
    scc = is_greatest ? a > b : a < b;
    return scc ? a : b;
  }
};
template <unsigned shift>
struct ShiftedSum {
  u32 operator()(u32 a, u32 b, u32& carry) const {
    const u64 sum = (u64{a} << shift) + b;
    carry = sum >> 32 != 0;
    return static_cast<u32>(sum);
  }
};

void add_sums(Table& t) {
  add(t, "s_add_u32", two([](u32 a, u32 b, u32& scc) {
        scc = a + b < a;
        return a + b;
      }));
  add(t, "s_sub_u32", two([](u32 a, u32 b, u32& scc) {
        scc = b > a;
        return a - b;
      }));
  add(t, "s_add_i32", two([](u32 a, u32 b, u32& scc) {
        const u32 sum = a + b;
        scc = ((a ^ sum) & (b ^ sum)) >> 31;
        return sum;
      }));
  add(t, "s_sub_i32", two([](u32 a, u32 b, u32& scc) {
        const u32 made = a - b;
        scc = ((a ^ b) & (a ^ made)) >> 31;
        return made;
      }));
  add(t, "s_addc_u32", two([](u32 a, u32 b, u32& scc) {
        const u64 sum = u64{a} + b + scc;
        scc = static_cast<u32>(sum >> 32);
        return static_cast<u32>(sum);
      }));
  add(t, "s_subb_u32", two([](u32 a, u32 b, u32& scc) {
        const u64 made = u64{a} - b - scc;
        scc = static_cast<u32>(made >> 63);
        return static_cast<u32>(made);
      }));
  add(t, "s_absdiff_i32", two([](i32 a, i32 b, u32& scc) {
        const i64 difference = i64{a} - b;
        const auto made = static_cast<u32>(difference < 0 ? -difference : difference);
        scc = made != 0;
        return made;
      }));
  add(t, "s_min_i32", two(Chosen<i32, false>()));
  add(t, "s_min_u32", two(Chosen<u32, false>()));
  add(t, "s_max_i32", two(Chosen<i32, true>()));
  add(t, "s_max_u32", two(Chosen<u32, true>()));
  add(t, "s_mul_i32", two([](u32 a, u32 b, u32&) { return a * b; }));
  add(t, "s_mul_hi_u32",
      two([](u32 a, u32 b, u32&) { return static_cast<u32>(u64{a} * b >> 32); }));
  add(t, "s_mul_hi_i32",
      two([](i32 a, i32 b, u32&) { return static_cast<u32>(i64{a} * b >> 32); }));
  add(t, "s_lshl1_add_u32", two(ShiftedSum<1>()));
  add(t, "s_lshl2_add_u32", two(ShiftedSum<2>()));
  add(t, "s_lshl3_add_u32", two(ShiftedSum<3>()));
  add(t, "s_lshl4_add_u32", two(ShiftedSum<4>()));
  add(t, "s_pack_ll_b32_b16", two([](u32 a, u32 b, u32&) { return (a & 0xffff) | b << 16; }));
  add(t, "s_pack_lh_b32_b16",
      two([](u32 a, u32 b, u32&) { return (a & 0xffff) | (b & 0xffff0000); }));
  add(t, "s_pack_hh_b32_b16", two([](u32 a, u32 b, u32&) { return a >> 16 | (b & 0xffff0000); }));
}

void add_logic(Table& t) {
  add(t, "s_cselect_b32", two([](u32 a, u32 b, u32& scc) { return scc ? a : b; }));
  add(t, "s_cselect_b64", two([](u64 a, u64 b, u32& scc) { return scc ? a : b; }));
  add(t, "s_and_b32", logic([](u32 a, u32 b) { return a & b; }));
  add(t, "s_and_b64", logic([](u64 a, u64 b) { return a & b; }));
  add(t, "s_or_b32", logic([](u32 a, u32 b) { return a | b; }));
  add(t, "s_or_b64", logic([](u64 a, u64 b) { return a | b; }));
  add(t, "s_xor_b32", logic([](u32 a, u32 b) { return a ^ b; }));
  add(t, "s_xor_b64", logic([](u64 a, u64 b) { return a ^ b; }));
  add(t, "s_andn2_b32", logic([](u32 a, u32 b) { return a & ~b; }));
  add(t, "s_andn2_b64", logic([](u64 a, u64 b) { return a & ~b; }));
  add(t, "s_orn2_b32", logic([](u32 a, u32 b) { return a | ~b; }));
  add(t, "s_orn2_b64", logic([](u64 a, u64 b) { return a | ~b; }));
  add(t, "s_nand_b32", logic([](u32 a, u32 b) { return ~(a & b); }));
  add(t, "s_nand_b64", logic([](u64 a, u64 b) { return ~(a & b); }));
  add(t, "s_nor_b32", logic([](u32 a, u32 b) { return ~(a | b); }));
  add(t, "s_nor_b64", logic([](u64 a, u64 b) { return ~(a | b); }));
  add(t, "s_xnor_b32", logic([](u32 a, u32 b) { return ~(a ^ b); }));
  add(t, "s_xnor_b64", logic([](u64 a, u64 b) { return ~(a ^ b); }));
  add(t, "s_lshl_b32", logic([](u32 a, u32 b) { return a << (b & 31); }));
  add(t, "s_lshl_b64", logic([](u64 a, u64 b) { return a << (b & 63); }));
  add(t, "s_lshr_b32", logic([](u32 a, u32 b) { return a >> (b & 31); }));
  add(t, "s_lshr_b64", logic([](u64 a, u64 b) { return a >> (b & 63); }));
  add(t, "s_ashr_i32", logic([](i32 a, i32 b) { return a >> (b & 31); }));
  add(t, "s_ashr_i64", logic([](i64 a, i64 b) { return a >> (b & 63); }));
  add(t, "s_bfm_b32", two([](u32 a, u32 b, u32&) { return ((1U << (a & 31)) - 1) << (b & 31); }));
  add(t, "s_bfm_b64",
      two([](u32 a, u32 b, u32&) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }));
  add(t, "s_bfe_u32", logic([](u32 a, u32 b) {
        const u32 width = b >> 16 & 127, part = a >> (b & 31);
        return width >= 32 ? part : part & ((1U << width) - 1);
      }));
  add(t, "s_bfe_i32", logic([](i32 a, i32 b) {
        const i32 width = b >> 16 & 127, part = a >> (b & 31);
        if (width == 0) return 0;
        return width >= 32
                   ? part
                   : static_cast<i32>(static_cast<u32>(part) << (32 - width)) >> (32 - width);
      }));
  add(t, "s_bfe_u64", logic([](u64 a, u64 b) {
        const u64 width = b >> 16 & 127, part = a >> (b & 63);
        return width >= 64 ? part : part & ((u64{1} << width) - 1);
      }));
  add(t, "s_bfe_i64", logic([](i64 a, i64 b) {
        const i64 width = b >> 16 & 127, part = a >> (b & 63);
        if (width == 0) return i64{0};
        return width >= 64
                   ? part
                   : static_cast<i64>(static_cast<u64>(part) << (64 - width)) >> (64 - width);
      }));
}

void add_moves(Table& t) {
  add(t, "s_mov_b32", one([](u32 a, u32&) { return a; }));
  add(t, "s_mov_b64", one([](u64 a, u32&) { return a; }));
  add(t, "s_cmov_b32", [](Wave& w, const Op& op) {
    if (w.scc) w.s[op.dst] = operand<u32>(w, op, 0);
  });
  add(t, "s_cmov_b64", [](Wave& w, const Op& op) {
    if (w.scc) w.set64(op.dst, operand<u64>(w, op, 0));
  });
  add(t, "s_movk_i32", [](Wave& w, const Op& op) {
    w.s[op.dst] = static_cast<u32>(static_cast<i16>(op.mods.immediate));
  });
  add(t, "s_cmovk_i32", [](Wave& w, const Op& op) {
    if (w.scc) w.s[op.dst] = static_cast<u32>(static_cast<i16>(op.mods.immediate));
  });
  add(t, "s_addk_i32", [](Wave& w, const Op& op) {
    const u32 a = w.s[op.dst], b = static_cast<u32>(static_cast<i16>(op.mods.immediate)),
              sum = a + b;
    w.scc = ((a ^ sum) & (b ^ sum)) >> 31;
    w.s[op.dst] = sum;
  });
  add(t, "s_mulk_i32", [](Wave& w, const Op& op) {
    w.s[op.dst] *= static_cast<u32>(static_cast<i16>(op.mods.immediate));
  });
  add(t, "s_movrels_b32",
      [](Wave& w, const Op& op) { w.s[op.dst] = w.s[(op.src[0] + w.s[sonde::gpu::kM0]) & 127]; });
  add(t, "s_movrels_b64", [](Wave& w, const Op& op) {
    w.set64(op.dst, w.s64((op.src[0] + w.s[sonde::gpu::kM0]) & 127));
  });
  add(t, "s_movreld_b32", [](Wave& w, const Op& op) {
    w.s[(op.dst + w.s[sonde::gpu::kM0]) & 127] = operand<u32>(w, op, 0);
  });
  add(t, "s_movreld_b64", [](Wave& w, const Op& op) {
    w.set64((op.dst + w.s[sonde::gpu::kM0]) & 126, operand<u64>(w, op, 0));
  });
  add(t, "s_and_saveexec_b64", save_exec([](u64 a, u64 e) { return a & e; }));
  add(t, "s_or_saveexec_b64", save_exec([](u64 a, u64 e) { return a | e; }));
  add(t, "s_xor_saveexec_b64", save_exec([](u64 a, u64 e) { return a ^ e; }));
  add(t, "s_andn2_saveexec_b64", save_exec([](u64 a, u64 e) { return a & ~e; }));
  add(t, "s_orn2_saveexec_b64", save_exec([](u64 a, u64 e) { return a | ~e; }));
  add(t, "s_nand_saveexec_b64", save_exec([](u64 a, u64 e) { return ~(a & e); }));
  add(t, "s_nor_saveexec_b64", save_exec([](u64 a, u64 e) { return ~(a | e); }));
  add(t, "s_xnor_saveexec_b64", save_exec([](u64 a, u64 e) { return ~(a ^ e); }));
  add(t, "s_andn1_saveexec_b64", save_exec([](u64 a, u64 e) { return ~a & e; }));
  add(t, "s_orn1_saveexec_b64", save_exec([](u64 a, u64 e) { return ~a | e; }));
  add(t, "s_andn1_wrexec_b64", write_exec([](u64 a, u64 e) { return ~a & e; }));
  add(t, "s_andn2_wrexec_b64", write_exec([](u64 a, u64 e) { return a & ~e; }));
}

void add_bits(Table& t) {
  add(t, "s_not_b32", one([](u32 a, u32& scc) {
        scc = ~a != 0;
        return ~a;
      }));
  add(t, "s_not_b64", one([](u64 a, u32& scc) {
        scc = ~a != 0;
        return ~a;
      }));
  add(t, "s_wqm_b32", one([](u32 a, u32& scc) {
        const u32 any = (a | a >> 1 | a >> 2 | a >> 3) & 0x11111111;
        scc = any != 0;
        return any * 15;
      }));
  add(t, "s_wqm_b64", one([](u64 a, u32& scc) {
        const u64 any = (a | a >> 1 | a >> 2 | a >> 3) & 0x1111111111111111;
        scc = any != 0;
        return any * 15;
      }));
  add(t, "s_quadmask_b32", one([](u32 a, u32& scc) {
        u64 made = 0;
        scc = zero_bytes(a, 32, made);
        return static_cast<u32>(made);
      }));
  add(t, "s_quadmask_b64", one([](u64 a, u32& scc) {
        u64 made = 0;
        scc = zero_bytes(a, 64, made);
        return made;
      }));
  add(t, "s_brev_b32", one([](u32 a, u32&) {
        u32 made = 0;
        for (int i = 0; i < 32; i++) made |= (a >> i & 1) << (31 - i);
        return made;
      }));
  add(t, "s_brev_b64", one([](u64 a, u32&) {
        u64 made = 0;
        for (int i = 0; i < 64; i++) made |= (a >> i & 1) << (63 - i);
        return made;
      }));
}

void add_counts(Table& t) {
  add(t, "s_bcnt0_i32_b32", one([](u32 a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcount(~a));
        scc = n != 0;
        return n;
      }));
  add(t, "s_bcnt0_i32_b64", one([](u64 a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcountll(~a));
        scc = n != 0;
        return n;
      }));
  add(t, "s_bcnt1_i32_b32", one([](u32 a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcount(a));
        scc = n != 0;
        return n;
      }));
  add(t, "s_bcnt1_i32_b64", one([](u64 a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcountll(a));
        scc = n != 0;
        return n;
      }));
  add(t, "s_ff0_i32_b32", one([](u32 a, u32&) { return ~a ? __builtin_ctz(~a) : -1; }));
  add(t, "s_ff0_i32_b64", one([](u64 a, u32&) { return ~a ? __builtin_ctzll(~a) : -1; }));
  add(t, "s_ff1_i32_b32", one([](u32 a, u32&) { return a ? __builtin_ctz(a) : -1; }));
  add(t, "s_ff1_i32_b64", one([](u64 a, u32&) { return a ? __builtin_ctzll(a) : -1; }));
  add(t, "s_flbit_i32_b32", one([](u32 a, u32&) { return a ? __builtin_clz(a) : -1; }));
  add(t, "s_flbit_i32_b64", one([](u64 a, u32&) { return a ? __builtin_clzll(a) : -1; }));
  add(t, "s_flbit_i32", one([](i32 a, u32&) {
        const u32 x = static_cast<u32>(a < 0 ? ~a : a);
        return x ? __builtin_clz(x) : -1;
      }));
  add(t, "s_flbit_i32_i64", one([](i64 a, u32&) {
        const u64 x = static_cast<u64>(a < 0 ? ~a : a);
        return x ? __builtin_clzll(x) : -1;
      }));
}

void add_signs_and_sets(Table& t) {
  add(t, "s_sext_i32_i8", one([](u32 a, u32&) { return i32{static_cast<i8>(a)}; }));
  add(t, "s_sext_i32_i16", one([](u32 a, u32&) { return i32{static_cast<i16>(a)}; }));
  add(t, "s_abs_i32", one([](u32 a, u32& scc) {
        const u32 made = static_cast<i32>(a) < 0 ? 0 - a : a;
        scc = made != 0;
        return made;
      }));
  add(t, "s_bitset0_b32",
      [](Wave& w, const Op& op) { w.s[op.dst] &= ~(1U << (operand<u32>(w, op, 0) & 31)); });
  add(t, "s_bitset1_b32",
      [](Wave& w, const Op& op) { w.s[op.dst] |= 1U << (operand<u32>(w, op, 0) & 31); });
  add(t, "s_bitset0_b64", [](Wave& w, const Op& op) {
    w.set64(op.dst, w.s64(op.dst) & ~(u64{1} << (operand<u32>(w, op, 0) & 63)));
  });
  add(t, "s_bitset1_b64", [](Wave& w, const Op& op) {
    w.set64(op.dst, w.s64(op.dst) | u64{1} << (operand<u32>(w, op, 0) & 63));
  });
  add(t, "s_bitreplicate_b64_b32", one([](u32 a, u32&) {
        u64 made = 0;
        for (int i = 0; i < 32; i++) made |= u64{a >> i & 1} * 3 << 2 * i;
        return made;
      }));
}

void add_tests(Table& t) {
  add(t, "s_cmp_eq_i32", test([](i32 a, i32 b) { return a == b; }));
  add(t, "s_cmp_lg_i32", test([](i32 a, i32 b) { return a != b; }));
  add(t, "s_cmp_gt_i32", test([](i32 a, i32 b) { return a > b; }));
  add(t, "s_cmp_ge_i32", test([](i32 a, i32 b) { return a >= b; }));
  add(t, "s_cmp_lt_i32", test([](i32 a, i32 b) { return a < b; }));
  add(t, "s_cmp_le_i32", test([](i32 a, i32 b) { return a <= b; }));
  add(t, "s_cmp_eq_u32", test([](u32 a, u32 b) { return a == b; }));
  add(t, "s_cmp_lg_u32", test([](u32 a, u32 b) { return a != b; }));
  add(t, "s_cmp_gt_u32", test([](u32 a, u32 b) { return a > b; }));
  add(t, "s_cmp_ge_u32", test([](u32 a, u32 b) { return a >= b; }));
  add(t, "s_cmp_lt_u32", test([](u32 a, u32 b) { return a < b; }));
  add(t, "s_cmp_le_u32", test([](u32 a, u32 b) { return a <= b; }));
  add(t, "s_cmp_eq_u64", test([](u64 a, u64 b) { return a == b; }));
  add(t, "s_cmp_lg_u64", test([](u64 a, u64 b) { return a != b; }));
  add(t, "s_bitcmp0_b32", test([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }));
  add(t, "s_bitcmp1_b32", test([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; }));
  add(t, "s_bitcmp0_b64", test([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; }));
  add(t, "s_bitcmp1_b64", test([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 1; }));
  add(t, "s_cmpk_eq_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) == static_cast<i16>(b); }));
  add(t, "s_cmpk_lg_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) != static_cast<i16>(b); }));
  add(t, "s_cmpk_gt_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) > static_cast<i16>(b); }));
  add(t, "s_cmpk_ge_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) >= static_cast<i16>(b); }));
  add(t, "s_cmpk_lt_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) < static_cast<i16>(b); }));
  add(t, "s_cmpk_le_i32",
      test_immediate([](u32 a, u16 b) { return static_cast<i32>(a) <= static_cast<i16>(b); }));
  add(t, "s_cmpk_eq_u32", test_immediate([](u32 a, u16 b) { return a == b; }));
  add(t, "s_cmpk_lg_u32", test_immediate([](u32 a, u16 b) { return a != b; }));
  add(t, "s_cmpk_gt_u32", test_immediate([](u32 a, u16 b) { return a > b; }));
  add(t, "s_cmpk_ge_u32", test_immediate([](u32 a, u16 b) { return a >= b; }));
  add(t, "s_cmpk_lt_u32", test_immediate([](u32 a, u16 b) { return a < b; }));
  add(t, "s_cmpk_le_u32", test_immediate([](u32 a, u16 b) { return a <= b; }));
}

}  // namespace

void add_scalar(Table& table) {
  add_sums(table);
  add_logic(table);
  add_moves(table);
  add_bits(table);
  add_counts(table);
  add_signs_and_sets(table);
  add_tests(table);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
