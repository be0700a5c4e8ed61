// The building blocks of vector instructions: operands as arrays of 64 values, functions applied to
// them, results merged under EXEC. Loops over the lanes are simple, so that compilers vectorise
// them.
//
// Compiled several times, for different instruction sets of the host: so all of it is in a
// namespace per level, and nothing here instantiates a template of the standard library.
#pragma once

#include <utility>

#include "isa/op.h"

#ifndef SOFTGPU_ISA_LEVEL
#define SOFTGPU_ISA_LEVEL level1
#endif

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using f32 = float;
using f64 = double;
using sonde::gpu::Encoding;

constexpr u64 kAll = ~u64{0};

template <class To, class From>
[[gnu::always_inline]] inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// An IEEE 16-bit number. Sums, products, quotients and roots of two, computed as f32 and rounded
// again, are correctly rounded. Rounding and flushing follow MXCSR, and thereby the wave's MODE:
// adding a much larger number removes the bits that f16 lacks, and f16 denormals become f32
// denormals when scaled down by 2^112.
struct Half {
  u16 bits;
  Half() = default;
  explicit Half(u16 raw) : bits(raw) {}
  [[gnu::always_inline]] explicit Half(f32 value) {
    const u32 all = as<u32>(value), sign = all & 0x80000000, x = all & 0x7fffffff;
    u32 exponent = x & 0x7f800000;
    exponent = exponent < 113U << 23 ? 113U << 23 : exponent > 143U << 23 ? 143U << 23 : exponent;
    const f32 far = as<f32>(sign | (exponent + (13U << 23)));
    const u32 usual = (as<u32>((value + far - far) * 0x1p-112F) & 0x7fffffff) >> 13;
    // Infinite, or the largest number if rounding is towards smaller magnitudes.
    const u32 beyond = as<u32>(as<f32>(sign | 0x7f7fffff) * 2) << 1 == 0xff000000 ? 0x7c00 : 0x7bff;
    u32 made = x >= 0x47800000 ? beyond : usual;
    made = x == 0x7f800000 ? 0x7c00 : made;
    made = x > 0x7f800000 ? 0x7e00 | (x >> 13 & 0x3ff) : made;
    bits = static_cast<u16>(sign >> 16 | made);
  }
  [[gnu::always_inline]] operator f32() const {  // NOLINT(google-explicit-constructor)
    const u32 x = (bits & 0x7fffU) << 13;
    u32 made = as<u32>(as<f32>(x) * 0x1p112F);
    made = x >= 0x0f800000 ? x | 0x7f800000 : made;
    return as<f32>(made | (bits & 0x8000U) << 16);
  }
};

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<f32> = true;
template <>
inline constexpr bool kIsFloat<f64> = true;
template <>
inline constexpr bool kIsFloat<Half> = true;

template <size_t bytes>
struct RawOf;
template <>
struct RawOf<2> {
  using Type = u16;
};
template <>
struct RawOf<4> {
  using Type = u32;
};
template <>
struct RawOf<8> {
  using Type = u64;
};
template <class T>
using Raw = typename RawOf<sizeof(T)>::Type;
template <class T>
constexpr Raw<T> kSign = static_cast<Raw<T>>(Raw<T>{1} << (sizeof(T) * 8 - 1));
template <class T>  // the quiet bit of a NaN
constexpr Raw<T> kQuiet = static_cast<Raw<T>>(Raw<T>{1} << (sizeof(T) == 2   ? 9
                                                            : sizeof(T) == 4 ? 22
                                                                             : 51));
template <class T>
[[gnu::always_inline]] inline T quieted(T nan) {
  return as<T>(static_cast<Raw<T>>(as<Raw<T>>(nan) | kQuiet<T>));
}

// Clamping: with MODE's DX10_CLAMP, NaN becomes zero.
[[gnu::always_inline]] inline bool keeps_nan(const Wave& w) { return (w.mode >> 8 & 1) == 0; }
template <class T>
[[gnu::always_inline]] inline T to_unit(T x, bool keeps) {
  return x > 0 ? (x < 1 ? x : T(1)) : keeps && x != x ? x : T(0);
}

// ---- scalar operands ----

[[gnu::always_inline]] inline u32 scalar(const Wave& w, const Op& op, unsigned n) {
  if (n < 251) return w.s[n];
  switch (n) {
    case sonde::gpu::kVccz:
      return w.vcc() == 0;
    case sonde::gpu::kExecz:
      return w.exec() == 0;
    case sonde::gpu::kScc:
      return w.scc;
    case sonde::gpu::kLiteral:
      return op.literal;
  }
  return 0;
}
// The type of a 64-bit operand, which determines how a 32-bit literal is extended.
enum class WideKind { kBits, kSigned, kFloat };
template <class T>
constexpr WideKind kWideKind = kIsFloat<T>           ? WideKind::kFloat
                               : std::is_signed_v<T> ? WideKind::kSigned
                                                     : WideKind::kBits;
u64 wide_constant(const Wave& w, const Op& op, unsigned n, WideKind kind);
[[gnu::always_inline]] inline u64 scalar64(const Wave& w, const Op& op, unsigned n,
                                           WideKind kind = WideKind::kBits) {
  return n < 128 ? w.s64(n) : wide_constant(w, op, n, kind);
}
Half half_constant(const Wave& w, const Op& op, unsigned n);

template <class T>
T scalar_as(const Wave& w, const Op& op, unsigned n) {
  if constexpr (sizeof(T) == 8) {
    return as<T>(scalar64(w, op, n, kWideKind<T>));
  } else if constexpr (sizeof(T) == 4) {
    return as<T>(scalar(w, op, n));
  } else if constexpr (kIsFloat<T>) {
    return half_constant(w, op, n);
  } else {
    return static_cast<T>(scalar(w, op, n));
  }
}

// Apply SDWA and DPP to a row. permute() also returns which lanes have a value.
void select_part(unsigned selection, bool is_signed, const u32* from, u32* to);
void permute(const Wave& w, const Op& op, const u32* from, u32* to, u64& mask);

// A source as 64 values; removes lanes from `mask` that DPP does not write.
template <class T>
struct Source {
  const T* p;
  alignas(64) T own[kLanes];

  [[gnu::always_inline]] T operator[](int lane) const { return p[lane]; }

  [[gnu::always_inline]] Source(const Wave& w, const Op& op, int which, u64& mask,
                                bool has_signs = true) {
    const unsigned n = op.src[which];
    if (n >= kFirstVgpr && op.is_plain && sizeof(T) == 4) {
      p = reinterpret_cast<const T*>(w.v[n - kFirstVgpr]);
      return;
    }
    p = own;
    if (n >= kFirstVgpr && op.is_plain) {
      spread(w.v[n - kFirstVgpr], w.v[(n - kFirstVgpr + 1) & 511], 0);
    } else if (op.is_plain) {
      fill(scalar_as<T>(w, op, n));
    } else {
      load_modified(w, op, which, mask, has_signs);
    }
  }

 private:
  [[gnu::always_inline]] void fill(T value) {
    for (int l = 0; l < kLanes; l++) own[l] = value;
  }
  [[gnu::always_inline]] void spread(const u32* low, const u32* high, int shift) {
    (void)high;
    for (int l = 0; l < kLanes; l++) {
      if constexpr (sizeof(T) == 8) {
        own[l] = as<T>(low[l] | u64{high[l]} << 32);
      } else if constexpr (sizeof(T) == 4) {
        own[l] = as<T>(low[l]);
      } else {
        own[l] = as<T>(static_cast<u16>(low[l] >> shift));
      }
    }
  }
  [[gnu::noinline]] void load_modified(const Wave& w, const Op& op, int which, u64& mask,
                                       bool has_signs) {
    const unsigned n = op.src[which];
    const bool selects = op.encoding == Encoding::kSdwa && which < 2 && op.mods.src_sel[which] != 6;
    alignas(64) u32 rows[2][kLanes];
    if (n >= kFirstVgpr) {
      const u32* row = w.v[n - kFirstVgpr];
      const u32* next = w.v[(n - kFirstVgpr + 1) & 511];
      if (op.encoding == Encoding::kDpp && which == 0) {
        permute(w, op, row, rows[0], mask);
        if (sizeof(T) == 8) permute(w, op, next, rows[1], mask);
        row = rows[0];
        next = rows[1];
      } else if (selects) {
        select_part(op.mods.src_sel[which], op.mods.sext >> which & 1, row, rows[0]);
        row = rows[0];
      }
      const bool takes_high = op.encoding == Encoding::kPlain && (op.mods.op_sel >> which & 1);
      spread(row, next, takes_high ? 16 : 0);
    } else if (selects) {
      for (u32& value : rows[1]) value = scalar(w, op, n);
      select_part(op.mods.src_sel[which], op.mods.sext >> which & 1, rows[1], rows[0]);
      spread(rows[0], rows[0], 0);
    } else if (sizeof(T) == 2 && n < 128 && (op.mods.op_sel >> which & 1)) {
      fill(as<T>(static_cast<Raw<T>>(w.s[n] >> 16)));
    } else {
      fill(scalar_as<T>(w, op, n));
    }
    if (kIsFloat<T> && has_signs) apply_signs(op, which);
  }
  void apply_signs(const Op& op, int which) {
    const Raw<T> keep =
        op.mods.abs >> which & 1 ? static_cast<Raw<T>>(~kSign<T>) : static_cast<Raw<T>>(~Raw<T>{0});
    const Raw<T> flip = op.mods.neg >> which & 1 ? kSign<T> : Raw<T>{0};
    for (int l = 0; l < kLanes; l++) {
      own[l] = as<T>(static_cast<Raw<T>>((as<Raw<T>>(own[l]) & keep) ^ flip));
    }
  }
};

// ---- results ----

[[gnu::always_inline]] inline void store_row(Wave& w, unsigned row, const u32* x, u64 mask) {
  u32* to = w.v[row & 511];
  if (mask == kAll) {
    for (int l = 0; l < kLanes; l++) to[l] = x[l];
    return;
  }
  for (int half = 0; half < 2; half++) {
    const u32 bits = static_cast<u32>(mask >> 32 * half);
    for (int l = 0; l < 32; l++) {
      const int at = 32 * half + l;
      to[at] = bits & (1U << l) ? x[at] : to[at];
    }
  }
}

// For 16-bit instructions: on gfx9 most clear the other half, as older GPUs do; those with op_sel
// or a new opcode on gfx9 keep it, and so do v_mac, v_madmk and v_madak.
enum class HighHalf : u8 { kCleared, kKept };
void store_part(Wave& w, const Op& op, const u32* x, u64 mask, HighHalf high);

template <class T>
[[gnu::noinline]] void modify_result(const Wave& w, const Op& op, T* x) {
  if constexpr (kIsFloat<T>) {
    using Wide = decltype(T{} * 1.0F);
    constexpr f32 kScale[] = {1, 2, 4, 0.5F};
    for (int l = 0; l < kLanes; l++) {
      Wide value = x[l];
      if (op.mods.omod) value *= static_cast<Wide>(kScale[op.mods.omod]);
      if (op.mods.clamp) value = to_unit(value, keeps_nan(w));
      x[l] = T(value);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void finish(Wave& w, const Op& op, T* x, u64 mask,
                                          HighHalf high = HighHalf::kCleared) {
  if (!op.is_plain && (op.mods.omod || op.mods.clamp)) modify_result(w, op, x);
  if constexpr (sizeof(T) == 8) {
    alignas(64) u32 low[kLanes], upper[kLanes];
    for (int l = 0; l < kLanes; l++) {
      low[l] = static_cast<u32>(as<u64>(x[l]));
      upper[l] = static_cast<u32>(as<u64>(x[l]) >> 32);
    }
    store_row(w, op.dst, low, mask);
    store_row(w, op.dst + 1U, upper, mask);
  } else if constexpr (sizeof(T) == 4) {
    const u32* out = reinterpret_cast<const u32*>(x);
    if (op.is_plain) {
      store_row(w, op.dst, out, mask);
    } else {
      store_part(w, op, out, mask, HighHalf::kCleared);
    }
  } else {
    alignas(64) u32 wide[kLanes];
    for (int l = 0; l < kLanes; l++) wide[l] = as<u16>(x[l]);
    if (op.is_plain && high == HighHalf::kCleared) {
      store_row(w, op.dst, wide, mask);
    } else {
      store_part(w, op, wide, mask, high);
    }
  }
}

// Bit l of the result is bits[l].
[[gnu::always_inline]] inline u64 packed_bits(const u8* bits) {
  u64 mask = 0;
  for (int l = 0; l < kLanes; l += 8) {
    u64 eight;
    __builtin_memcpy(&eight, bits + l, 8);
    mask |= (eight * 0x0102040810204080U >> 56) << l;
  }
  return mask;
}

template <class F>
[[gnu::always_inline]] inline void each(u64 mask, F f) {
  for (; mask; mask &= mask - 1) f(__builtin_ctzll(mask));
}

// out[lane] = f(lane, a, b, ...) with the instruction's sources, whose types are A...; removes
// lanes from `mask` that DPP does not write.

template <class R, class F, class... S>
[[gnu::always_inline]] inline void fill_lanes(R* out, F& f, const S&... sources) {
  for (int l = 0; l < kLanes; l++) out[l] = f(l, sources[l]...);
}
template <class... A, class R, class F, int... which>
[[gnu::always_inline]] inline void fill_from(const Wave& w, const Op& op, u64& mask, R* out, F& f,
                                             std::integer_sequence<int, which...>) {
  fill_lanes(out, f, Source<A>(w, op, which, mask)...);
}
template <class... A, class R, class F>
[[gnu::always_inline]] inline void compute(const Wave& w, const Op& op, u64& mask, R* out, F f) {
  fill_from<A...>(w, op, mask, out, f, std::make_integer_sequence<int, sizeof...(A)>{});
}

// The same, stored as the instruction's result, of type R. Returns the lanes written.
template <class R, class... A, class F>
[[gnu::always_inline]] inline u64 store_computed(Wave& w, const Op& op, F f,
                                                 HighHalf high = HighHalf::kCleared) {
  u64 mask = w.exec();
  alignas(64) R out[kLanes];
  compute<A...>(w, op, mask, out, f);
  finish(w, op, out, mask, high);
  return mask;
}

// f(a), f(a, b), f(a, b, c) on all lanes; the types are those of f's parameters and result. The
// function is passed as a type: a lambda without captures.

template <class F, HighHalf high, class R, class... A>
void apply(Wave& w, const Op& op) {
  store_computed<R, A...>(
      w, op, [](int, A... values) { return F{}(values...); }, high);
}
template <HighHalf high, class F, class R, class... A>
Handler lanes_of(R (F::*)(A...) const) {
  return [](Wave& w, const Op& op) { apply<F, high, R, A...>(w, op); };
}
template <HighHalf high = HighHalf::kCleared, class F>
Handler lanes(F) {
  return lanes_of<high, F>(&F::operator());
}

// d = f(a, b, d).
template <HighHalf high, class F, class R, class A, class B, class C>
Handler accumulating_of(R (F::*)(A, B, C) const) {
  return [](Wave& w, const Op& op) {
    Op with = op;
    with.src[2] = static_cast<uint16_t>(op.dst + kFirstVgpr);
    with.mods.op_sel &= 3;
    apply<F, high, R, A, B, C>(w, with);
  };
}
template <HighHalf high = HighHalf::kCleared, class F>
Handler accumulating(F) {
  return accumulating_of<high, F>(&F::operator());
}

// Integer sums and the like: F computes them in 64 bits, and clamp saturates them to the range of
// R.
template <class F, HighHalf high, class R, class... A>
void apply_clamped(Wave& w, const Op& op) {
  constexpr bool is_signed = R(-1) < R(0);
  constexpr i64 most =
      is_signed ? (i64{1} << (sizeof(R) * 8 - 1)) - 1 : (i64{1} << sizeof(R) * 8) - 1;
  constexpr i64 least = is_signed ? -most - 1 : 0;
  const auto clamped = [](int, A... values) {
    const i64 value = F{}(values...);
    return static_cast<R>(value < least ? least : value > most ? most : value);
  };
  store_computed<R, A...>(w, op, clamped, high);
}
// Uses F if the instruction has no clamp, and Exact if it has.
template <class F, class Exact, HighHalf high, class R, class... A>
void apply_either(Wave& w, const Op& op) {
  if (op.mods.clamp) {
    apply_clamped<Exact, high, R, A...>(w, op);
  } else {
    apply<F, high, R, A...>(w, op);
  }
}
template <class F, class T>
struct Cut {
  [[gnu::always_inline]] T operator()(T a, T b) const { return static_cast<T>(F{}(a, b)); }
};
template <class T, HighHalf high = HighHalf::kCleared, class F>
Handler clamped(F) {
  return apply_either<Cut<F, T>, F, high, T, T, T>;
}

// For f32 and f64.
inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
inline f32 scaled(f32 x, int by) { return __builtin_ldexpf(x, by); }
inline f64 scaled(f64 x, int by) { return __builtin_ldexp(x, by); }

// The instructions that each file adds.
void add_scalar(Table& table);
void add_scalar_memory(Table& table);
void add_control(Table& table);
void add_integer(Table& table);
void add_integer_three(Table& table);
void add_float(Table& table);
void add_half(Table& table);
void add_convert(Table& table);
void add_divide(Table& table);
void add_compare(Table& table);
void add_lane(Table& table);
void add_packed(Table& table);
void add_dot(Table& table);
void add_matrix(Table& table);
void add_lds(Table& table);
void add_lds_atomic(Table& table);
void add_flat(Table& table);
void add_flat_atomic(Table& table);
void add_buffer(Table& table);
void add_buffer_format(Table& table);
void add_lds_rare(Table& table);
void add_media(Table& table);

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
