// Scalar arithmetic: SOP1, SOP2, SOPC, and the SOPK instructions that compute.
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

// f(a, b, scc): the operand types are those of its parameters; it sets SCC if the instruction does.
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
// A bit operation sets SCC if its result is not zero.
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
template <class T>  // unsigned; -1 for zero
i32 leading_zeros(T x) {
  return x ? __builtin_clzll(x) - (64 - static_cast<i32>(sizeof(T)) * 8) : -1;
}

template <class T, bool is_greatest>
struct Chosen {  // SCC says whether the first was chosen
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

template <class T>
void add_logic(Table& t, const char* of) {
  constexpr T kPlaces = sizeof(T) * 8 - 1;  // the largest shift
  add(t, "s_cselect_", of, two([](T a, T b, u32& scc) { return scc ? a : b; }));
  add(t, "s_and_", of, logic([](T a, T b) { return a & b; }));
  add(t, "s_or_", of, logic([](T a, T b) { return a | b; }));
  add(t, "s_xor_", of, logic([](T a, T b) { return a ^ b; }));
  add(t, "s_andn2_", of, logic([](T a, T b) { return a & ~b; }));
  add(t, "s_orn2_", of, logic([](T a, T b) { return a | ~b; }));
  add(t, "s_nand_", of, logic([](T a, T b) { return ~(a & b); }));
  add(t, "s_nor_", of, logic([](T a, T b) { return ~(a | b); }));
  add(t, "s_xnor_", of, logic([](T a, T b) { return ~(a ^ b); }));
  add(t, "s_lshl_", of, logic([](T a, T b) { return a << (b & kPlaces); }));
  add(t, "s_lshr_", of, logic([](T a, T b) { return a >> (b & kPlaces); }));
  add(t, "s_bfm_", of,
      two([](T a, T b, u32&) { return ((T{1} << (a & kPlaces)) - 1) << (b & kPlaces); }));
}

// Sign-extends if T is signed.
template <class T>
void add_extraction(Table& t, const char* of) {
  add(t, "s_bfe_", of, logic([](T a, T b) {
        constexpr T kBits = sizeof(T) * 8;
        const T width = b >> 16 & 127, part = a >> (b & (kBits - 1));
        if (width == 0) return T{0};
        if (width >= kBits) return part;
        return static_cast<T>(static_cast<Raw<T>>(part) << (kBits - width)) >> (kBits - width);
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

template <class T>
void add_bits(Table& t, const char* of) {
  add(t, "s_not_", of, one([](T a, u32& scc) {
        scc = ~a != 0;
        return ~a;
      }));
  add(t, "s_wqm_", of, one([](T a, u32& scc) {
        const T any = (a | a >> 1 | a >> 2 | a >> 3) & static_cast<T>(0x1111111111111111);
        scc = any != 0;
        return any * 15;
      }));
  add(t, "s_quadmask_", of, one([](T a, u32& scc) {  // per quad: whether any bit is set
        T made = 0;
        for (unsigned i = 0; i < sizeof(T) * 8; i += 4) made |= T{(a >> i & 15) != 0} << i / 4;
        scc = made != 0;
        return made;
      }));
  add(t, "s_brev_", of, one([](T a, u32&) {
        constexpr unsigned kLast = sizeof(T) * 8 - 1;
        T made = 0;
        for (unsigned i = 0; i <= kLast; i++) made |= (a >> i & 1) << (kLast - i);
        return made;
      }));
}

template <class T>
void add_counts(Table& t, const char* of) {
  add(t, "s_bcnt0_i32_", of, one([](T a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcountll(static_cast<T>(~a)));
        scc = n != 0;
        return n;
      }));
  add(t, "s_bcnt1_i32_", of, one([](T a, u32& scc) {
        const u32 n = static_cast<u32>(__builtin_popcountll(a));
        scc = n != 0;
        return n;
      }));
  add(t, "s_ff0_i32_", of, one([](T a, u32&) { return ~a ? __builtin_ctzll(~a) : -1; }));
  add(t, "s_ff1_i32_", of, one([](T a, u32&) { return a ? __builtin_ctzll(a) : -1; }));
  add(t, "s_flbit_i32_", of, one([](T a, u32&) { return leading_zeros(a); }));
}

void add_signs_and_sets(Table& t) {
  add(t, "s_ashr_i32", logic([](i32 a, i32 b) { return a >> (b & 31); }));
  add(t, "s_ashr_i64", logic([](i64 a, i64 b) { return a >> (b & 63); }));
  add(t, "s_flbit_i32",
      one([](i32 a, u32&) { return leading_zeros(static_cast<u32>(a < 0 ? ~a : a)); }));
  add(t, "s_flbit_i32_i64",
      one([](i64 a, u32&) { return leading_zeros(static_cast<u64>(a < 0 ? ~a : a)); }));
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

// For registers, and for a register and a 16-bit immediate.
template <class T, class Short, class F>
void add_comparison(Table& t, const char* condition, const char* of, F holds) {
  add(t, {"s_cmp_", condition, of}, test(holds));
  add(t, {"s_cmpk_", condition, of}, [](Wave& w, const Op& op) {
    w.scc = F{}(static_cast<T>(w.s[op.dst]), static_cast<Short>(op.mods.immediate));
  });
}
template <class T, class Short>
void add_comparisons(Table& t, const char* of) {
  add_comparison<T, Short>(t, "eq", of, [](T a, T b) { return a == b; });
  add_comparison<T, Short>(t, "lg", of, [](T a, T b) { return a != b; });
  add_comparison<T, Short>(t, "gt", of, [](T a, T b) { return a > b; });
  add_comparison<T, Short>(t, "ge", of, [](T a, T b) { return a >= b; });
  add_comparison<T, Short>(t, "lt", of, [](T a, T b) { return a < b; });
  add_comparison<T, Short>(t, "le", of, [](T a, T b) { return a <= b; });
}

void add_tests(Table& t) {
  add_comparisons<i32, i16>(t, "_i32");
  add_comparisons<u32, u16>(t, "_u32");
  add(t, "s_cmp_eq_u64", test([](u64 a, u64 b) { return a == b; }));
  add(t, "s_cmp_lg_u64", test([](u64 a, u64 b) { return a != b; }));
  add(t, "s_bitcmp0_b32", test([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }));
  add(t, "s_bitcmp1_b32", test([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; }));
  add(t, "s_bitcmp0_b64", test([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; }));
  add(t, "s_bitcmp1_b64", test([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 1; }));
}

}  // namespace

void add_scalar(Table& table) {
  add_sums(table);
  add_logic<u32>(table, "b32");
  add_logic<u64>(table, "b64");
  add_extraction<u32>(table, "u32");
  add_extraction<i32>(table, "i32");
  add_extraction<u64>(table, "u64");
  add_extraction<i64>(table, "i64");
  add_moves(table);
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  add_counts<u32>(table, "b32");
  add_counts<u64>(table, "b64");
  add_signs_and_sets(table);
  add_tests(table);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
