// The generated kernels' operations in HIP.
#pragma once

#include "common.h"

#define ON __device__ inline

// Instructions order -0 before 0; LLVM, when it folds constants, treats them as equal.
template <class F>
ON F unknown(F a) {
  asm volatile("" : "+v"(a));
  return a;
}
#define FLOATING(T, suffix)                                    \
  ON T f_min(T a, T b) { return fmin##suffix(unknown(a), b); } \
  ON T f_max(T a, T b) { return fmax##suffix(unknown(a), b); } \
  ON T f_sqrt(T a) { return sqrt##suffix(a); }                 \
  ON T f_floor(T a) { return floor##suffix(a); }               \
  ON T f_rint(T a) { return rint##suffix(a); }                 \
  ON T f_abs(T a) { return fabs##suffix(a); }                  \
  ON T f_fma(T a, T b, T c) { return fma##suffix(a, b, c); }   \
  ON T f_ldexp(T a, int n) { return ldexp##suffix(a, n); }
FLOATING(float, f)
FLOATING(double, )

ON uint32_t i_popc(uint32_t a) { return __popc(a); }
ON uint32_t i_clz(uint32_t a) { return __clz(a); }
ON uint32_t i_ffs(uint32_t a) { return __ffs(a); }
ON uint32_t i_brev(uint32_t a) { return __brev(a); }
// LLVM 15 multiplies unsigned numbers that were sign-extended from few bits as signed ones
// (v_mul_hi_i32_i24), which a GPU would do, too; it cannot see through memory.
ON uint32_t i_mulhi(uint32_t a, uint32_t b) {
  volatile uint32_t kept = a;
  return __umulhi(kept, b);
}
ON uint32_t i_mul24(uint32_t a, uint32_t b) { return __umul24(a, b); }
ON uint32_t i_sad(uint32_t a, uint32_t b, uint32_t c) { return __builtin_amdgcn_sad_u8(a, b, c); }
ON uint32_t i_bfe(uint32_t a, uint32_t b, uint32_t c) { return __builtin_amdgcn_ubfe(a, b, c); }

ON uint32_t i_perm(uint32_t a, uint32_t b, uint32_t c) { return __builtin_amdgcn_perm(a, b, c); }
ON uint32_t i_lerp(uint32_t a, uint32_t b, uint32_t c) { return __builtin_amdgcn_lerp(a, b, c); }
ON uint32_t i_msad(uint32_t a, uint32_t b, uint32_t c) { return __builtin_amdgcn_msad_u8(a, b, c); }
ON uint32_t i_alignbyte(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_alignbyte(a, b, c);
}

using Shorts = short __attribute__((ext_vector_type(2)));
using Words = unsigned short __attribute__((ext_vector_type(2)));
using Halves = _Float16 __attribute__((ext_vector_type(2)));
ON uint32_t i_sdot2(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_sdot2(__builtin_bit_cast(Shorts, a), __builtin_bit_cast(Shorts, b), c,
                                false);
}
ON uint32_t i_udot2(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_udot2(__builtin_bit_cast(Words, a), __builtin_bit_cast(Words, b), c,
                                false);
}
ON uint32_t i_sdot4(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_sdot4(a, b, c, false);
}
ON uint32_t i_udot4(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_udot4(a, b, c, false);
}
ON uint32_t i_sdot8(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_sdot8(a, b, c, false);
}
ON uint32_t i_udot8(uint32_t a, uint32_t b, uint32_t c) {
  return __builtin_amdgcn_udot8(a, b, c, false);
}

#define PAIR(NAME, TYPE, RESULT)                                                 \
  ON uint32_t p_##NAME(uint32_t x, uint32_t y) {                                 \
    const TYPE a = __builtin_bit_cast(TYPE, x), b = __builtin_bit_cast(TYPE, y); \
    const TYPE made = RESULT;                                                    \
    return __builtin_bit_cast(uint32_t, made);                                   \
  }
PAIR(add, Words, a + b)
PAIR(sub, Words, a - b)
PAIR(mul, Words, a* b)
PAIR(min, Shorts, (Shorts{a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y}))
PAIR(max, Words, (Words{a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y}))
PAIR(shl, Words, a << (b & Words(15)))
PAIR(asr, Shorts, a >> (b & Shorts(15)))

// NaN has many encodings.
ON uint32_t h_bits(Halves a) {
  const _Float16 nan = __builtin_bit_cast(_Float16, uint16_t(0x7e00));
  const Halves made = {a.x == a.x ? a.x : nan, a.y == a.y ? a.y : nan};
  return __builtin_bit_cast(uint32_t, made);
}
// For a sign-extended byte whose bits are used as a half, LLVM 15 sets SDWA's negation bit instead
// of its extension bit.
ON Halves halves_of(uint32_t word) { return __builtin_bit_cast(Halves, unknown(word)); }
#define HALF_PAIR(NAME, RESULT)                      \
  ON uint32_t h_##NAME(uint32_t x, uint32_t y) {     \
    const Halves a = halves_of(x), b = halves_of(y); \
    return h_bits(RESULT);                           \
  }
HALF_PAIR(add, a + b)
HALF_PAIR(sub, a - b)
HALF_PAIR(mul, a* b)
HALF_PAIR(min, (Halves{a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y}))
// An f32 from halves of both words.
ON uint32_t h_mix(uint32_t x, uint32_t y) {
  const Halves a = halves_of(x), b = halves_of(y);
  const float made = fmaf(float(a.x), float(b.y), float(b.x));
  return made == made ? __builtin_bit_cast(uint32_t, made) : 0x7fc00000u;
}

// Matrix products of all lanes of a wave: elements are made from the bits of a word, so small that
// sums are exact; a lane's part of the result is turned into a number again.
// Always inlined: otherwise, if a local needs more alignment than the stack has, LLVM 15 saves one
// of the caller's registers in the place of a local.
#define INLINED ON __attribute__((always_inline))
template <class T, int count>
using VectorOf = T __attribute__((ext_vector_type(count)));
ON float small(uint32_t word, int n) { return float(int(word >> 4 * n & 15) - 8); }
template <class T, int count>
INLINED VectorOf<T, count> sums_from(uint32_t word) {
  const auto sum = [word](uint32_t n) { return T(int(word + 7u * n & 63) - 32); };
  // Without optimisation, LLVM 15 writes both halves of a 64-bit element to the lower one.
  if constexpr (sizeof(T) == 8) return {sum(0), sum(1), sum(2), sum(3)};
  VectorOf<T, count> made;
  for (int n = 0; n < count; n++) made[n] = sum(n);
  return made;
}
template <class T, int count>
INLINED uint32_t mixed(VectorOf<T, count> sums) {
  uint32_t made = 0;
  for (int n = 0; n < count; n++) made = made * 31u + uint32_t(int32_t(sums[n]));
  return made;
}
using FourHalves = VectorOf<_Float16, 4>;
using FourShorts = VectorOf<short, 4>;
ON short brain(uint32_t word, int n) {
  return short(__builtin_bit_cast(uint32_t, small(word, n)) >> 16);
}
ON float as_f32(uint32_t word) { return small(word, 0); }
ON double as_f64(uint32_t word) { return small(word, 0); }
ON FourHalves as_f16(uint32_t word) {
  return FourHalves{_Float16(small(word, 0)), _Float16(small(word, 1)), _Float16(small(word, 2)),
                    _Float16(small(word, 3))};
}
ON FourShorts as_bf16(uint32_t word) {
  return FourShorts{brain(word, 0), brain(word, 1), brain(word, 2), brain(word, 3)};
}
ON Shorts as_bf16_pair(uint32_t word) { return Shorts{brain(word, 0), brain(word, 1)}; }
ON int as_i8(uint32_t word) { return int(word); }
#define PRODUCT(NAME, BUILTIN, KIND, SUM, COUNT)                                                  \
  INLINED uint32_t m_##NAME(uint32_t a, uint32_t b, uint32_t c) {                                 \
    return mixed<SUM, COUNT>(__builtin_amdgcn_mfma_##BUILTIN(as_##KIND(a), as_##KIND(b),          \
                                                             sums_from<SUM, COUNT>(c), 0, 0, 0)); \
  }
#if defined(__gfx908__) || defined(__gfx90a__)
PRODUCT(32x32x1f32, f32_32x32x1f32, f32, float, 32)
PRODUCT(16x16x4f32, f32_16x16x4f32, f32, float, 4)
PRODUCT(4x4x1f32, f32_4x4x1f32, f32, float, 4)
PRODUCT(16x16x16f16, f32_16x16x16f16, f16, float, 4)
PRODUCT(32x32x8f16, f32_32x32x8f16, f16, float, 16)
PRODUCT(32x32x8i8, i32_32x32x8i8, i8, int, 16)
PRODUCT(4x4x4i8, i32_4x4x4i8, i8, int, 4)
PRODUCT(16x16x8bf16, f32_16x16x8bf16, bf16_pair, float, 4)
PRODUCT(32x32x2bf16, f32_32x32x2bf16, bf16_pair, float, 32)
#endif
#ifdef __gfx90a__
PRODUCT(16x16x4bf16, f32_16x16x4bf16_1k, bf16, float, 16)
PRODUCT(16x16x4f64, f64_16x16x4f64, f64, double, 4)
INLINED uint32_t m_4x4x4f64(uint32_t a, uint32_t b, uint32_t c) {
  return uint32_t(int32_t(
      __builtin_amdgcn_mfma_f64_4x4x4f64(as_f64(a), as_f64(b), double(int(c & 63) - 32), 0, 0, 0)));
}
#endif

ON uint32_t* low(uint64_t* at, int i) { return reinterpret_cast<uint32_t*>(at + i); }
ON void atomic_add(uint64_t* at, int i, uint32_t v) { atomicAdd(low(at, i), v); }
ON void atomic_max(uint64_t* at, int i, uint32_t v) { atomicMax(low(at, 16 + i), v); }
ON void atomic_or(uint64_t* at, int i, uint32_t v) { atomicOr(low(at, 32 + i), v); }
ON void atomic_xor(uint64_t* at, int i, uint32_t v) { atomicXor(low(at, 48 + i), v); }
ON void atomic_min(uint64_t* at, int i, uint32_t v) { atomicMin(low(at, 64 + i), v); }
ON void atomic_addf(uint64_t* at, int i, uint32_t v) {
  atomicAdd(reinterpret_cast<float*>(at + 80 + i), float(v & 15));
}
ON void atomic_add64(uint64_t* at, int i, uint32_t v) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at + 96 + i), v * 3000000000ull);
}
ON void atomic_inc(uint64_t* at, int i, uint32_t) { atomicInc(low(at, 112 + i), 1000u + i); }

// LLVM 15 sinks a call that ends both branches of an if below them, though other lanes take part
// there. Statements that cannot be moved keep it in place.
template <class T>
ON T in_place(T v) {
  asm volatile("");
  return v;
}
// LLVM also hoists a call that begins both branches above them. A unique asm comment keeps it in
// place.
template <int kNumber>
ON void unlike_others() {
  asm volatile("; lane statement %0" ::"i"(kNumber));
}
// Reading an inactive lane gives 0, but LLVM 21 folds the read if it knows the value to be the same
// in all lanes.
template <class T>
ON T lane_shfl(T v, int from) {
  return in_place(__shfl(unknown(v), from));
}
template <class T>
ON T lane_xor(T v, int mask) {
  return in_place(__shfl_xor(unknown(v), mask));
}
template <class T>
ON T lane_up(T v, int by) {
  return in_place(__shfl_up(unknown(v), by));
}
template <class T>
ON T lane_down(T v, int by) {
  return in_place(__shfl_down(unknown(v), by));
}
ON uint64_t lane_ballot(bool v) { return in_place(__ballot(v)); }
ON int lane_any(bool v) { return in_place(__any(v)); }
ON int lane_all(bool v) { return in_place(__all(v)); }
ON uint32_t lane_first(uint32_t v) { return in_place(__builtin_amdgcn_readfirstlane(unknown(v))); }
template <int kControl>
ON uint32_t lane_dpp(uint32_t v) {
  return in_place(__builtin_amdgcn_update_dpp(99, unknown(v), kControl, 15, 15, false));
}
template <int kPattern>
ON uint32_t lane_swizzle(uint32_t v) {
  return in_place(__builtin_amdgcn_ds_swizzle(unknown(v), kPattern));
}
