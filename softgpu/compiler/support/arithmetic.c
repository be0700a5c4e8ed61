/* Integer and memory instructions for which C has no operator. */
#include "support.h"

static inline uint32_t byte_of(uint32_t v, uint32_t n) { return v >> n * 8 & 255; }
static inline uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

#define BIT_FIELDS(of, Unsigned, Signed, bits)                              \
  Unsigned pure_amdgcn_ubfe_##of(Unsigned v, uint32_t at, uint32_t width) { \
    at &= bits - 1, width &= bits - 1;                                      \
    return width ? v >> at & (~(Unsigned)0 >> (bits - width)) : 0;          \
  }                                                                         \
  Signed pure_amdgcn_sbfe_##of(Signed v, uint32_t at, uint32_t width) {     \
    at &= bits - 1, width &= bits - 1;                                      \
    if (!width) return 0;                                                   \
    if (at + width >= bits) return v >> at;                                 \
    return (Signed)((Unsigned)v << (bits - at - width)) >> (bits - width);  \
  }
BIT_FIELDS(i32, uint32_t, int32_t, 32)
BIT_FIELDS(i64, uint64_t, int64_t, 64)

static inline int64_t low24(int32_t v) { return (int32_t)((uint32_t)v << 8) >> 8; }
uint32_t pure_amdgcn_mul_u24(uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); }
int32_t pure_amdgcn_mul_i24(int32_t a, int32_t b) { return (int32_t)(low24(a) * low24(b)); }
uint32_t pure_amdgcn_mulhi_u24(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32);
}
int32_t pure_amdgcn_mulhi_i24(int32_t a, int32_t b) { return (int32_t)(low24(a) * low24(b) >> 32); }

uint32_t pure_amdgcn_alignbyte(uint32_t high, uint32_t low, uint32_t n) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> (n & 3) * 8);
}
uint32_t pure_amdgcn_perm(uint32_t high, uint32_t low, uint32_t select) {
  uint64_t both = (uint64_t)high << 32 | low;
  uint32_t out = 0;
  for (uint32_t n = 0; n < 4; n++) {
    uint32_t s = byte_of(select, n);
    uint32_t v = s > 12    ? 255
                 : s == 12 ? 0
                 : s > 7   ? (both >> ((s - 8) * 16 + 15) & 1 ? 255 : 0)
                           : (uint32_t)(both >> s * 8) & 255;
    out |= v << n * 8;
  }
  return out;
}
uint32_t pure_amdgcn_lerp(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t out = 0;
  for (uint32_t n = 0; n < 4; n++)
    out |= (byte_of(a, n) + byte_of(b, n) + (byte_of(c, n) & 1)) >> 1 << n * 8;
  return out;
}

uint32_t pure_amdgcn_sad_u8(uint32_t a, uint32_t b, uint32_t sum) {
  for (uint32_t n = 0; n < 4; n++) sum += distance(byte_of(a, n), byte_of(b, n));
  return sum;
}
uint32_t pure_amdgcn_sad_hi_u8(uint32_t a, uint32_t b, uint32_t sum) {
  return (pure_amdgcn_sad_u8(a, b, 0) << 16) + sum;
}
uint32_t pure_amdgcn_sad_u16(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}
uint32_t pure_amdgcn_msad_u8(uint32_t a, uint32_t reference, uint32_t sum) {
  for (uint32_t n = 0; n < 4; n++)
    if (byte_of(reference, n)) sum += distance(byte_of(a, n), byte_of(reference, n));
  return sum;
}

static inline int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}
int32_t pure_amdgcn_sdot2(short2 a, short2 b, int32_t c, bool saturate) {
  int64_t v = (int64_t)a.x * b.x + (int64_t)a.y * b.y + c;
  return (int32_t)(saturate ? clamp(v, INT32_MIN, INT32_MAX) : v);
}
uint32_t pure_amdgcn_udot2(ushort2 a, ushort2 b, uint32_t c, bool saturate) {
  uint64_t v = (uint64_t)a.x * b.x + (uint64_t)a.y * b.y + c;
  return (uint32_t)(saturate && v > UINT32_MAX ? UINT32_MAX : v);
}
int32_t pure_amdgcn_sdot4(uint32_t a, uint32_t b, int32_t c, bool saturate) {
  int64_t v = c;
  for (uint32_t n = 0; n < 4; n++) v += (int8_t)byte_of(a, n) * (int8_t)byte_of(b, n);
  return (int32_t)(saturate ? clamp(v, INT32_MIN, INT32_MAX) : v);
}
uint32_t pure_amdgcn_udot4(uint32_t a, uint32_t b, uint32_t c, bool saturate) {
  uint64_t v = c;
  for (uint32_t n = 0; n < 4; n++) v += byte_of(a, n) * byte_of(b, n);
  return (uint32_t)(saturate && v > UINT32_MAX ? UINT32_MAX : v);
}
int32_t pure_amdgcn_sdot8(uint32_t a, uint32_t b, int32_t c, bool saturate) {
  int64_t v = c;
  for (uint32_t n = 0; n < 32; n += 4)
    v += ((int32_t)(a << (28 - n)) >> 28) * ((int32_t)(b << (28 - n)) >> 28);
  return (int32_t)(saturate ? clamp(v, INT32_MIN, INT32_MAX) : v);
}
uint32_t pure_amdgcn_udot8(uint32_t a, uint32_t b, uint32_t c, bool saturate) {
  uint64_t v = c;
  for (uint32_t n = 0; n < 32; n += 4) v += (a >> n & 15) * (b >> n & 15);
  return (uint32_t)(saturate && v > UINT32_MAX ? UINT32_MAX : v);
}

uint32_t pure_amdgcn_cvt_pk_u8_f32(float v, uint32_t at, uint32_t into) {
  uint32_t byte = v > 0 ? v >= 255 ? 255 : (uint32_t)__builtin_rintf(v) : 0;
  at = (at & 3) * 8;
  return (into & ~(255u << at)) | byte << at;
}
short2 pure_amdgcn_cvt_pk_i16(int32_t a, int32_t b) {
  return (short2){(int16_t)clamp(a, INT16_MIN, INT16_MAX), (int16_t)clamp(b, INT16_MIN, INT16_MAX)};
}
ushort2 pure_amdgcn_cvt_pk_u16(uint32_t a, uint32_t b) {
  return (ushort2){(uint16_t)clamp(a, 0, UINT16_MAX), (uint16_t)clamp(b, 0, UINT16_MAX)};
}

/* Read-modify-write operations for which LLVM 15 has no atomicrmw. Ordering and scope are passed
 * as numbers; sequential consistency is correct for all. */
#define RMW(NAME, TYPE, EXPR)                                                           \
  TYPE NAME {                                                                           \
    TYPE old;                                                                           \
    TYPE next;                                                                          \
    __atomic_load((TYPE*)at, &old, __ATOMIC_RELAXED);                                   \
    do {                                                                                \
      next = (EXPR);                                                                    \
    } while (!__atomic_compare_exchange((TYPE*)at, &old, &next, true, __ATOMIC_SEQ_CST, \
                                        __ATOMIC_RELAXED));                             \
    return old;                                                                         \
  }
#define ORDERED(TYPE) (TYPE * at, TYPE v, uint32_t ordering, uint32_t scope, bool is_volatile)
#define INC_DEC(TYPE, S)                                                      \
  RMW(pure_amdgcn_atomic_inc_##S ORDERED(TYPE), TYPE, old >= v ? 0 : old + 1) \
  RMW(pure_amdgcn_atomic_dec_##S ORDERED(TYPE), TYPE, old == 0 || old > v ? v : old - 1)
INC_DEC(uint32_t, i32)
INC_DEC(uint64_t, i64)

#define MIN(A, B) ((A) != (A) ? (B) : (B) != (B) ? (A) : (A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) != (A) ? (B) : (B) != (B) ? (A) : (A) > (B) ? (A) : (B))
#define FLOAT_ATOMICS(TYPE, S)                                                       \
  RMW(pure_amdgcn_ds_fadd_##S ORDERED(TYPE), TYPE, old + v)                          \
  RMW(pure_amdgcn_ds_fmin_##S ORDERED(TYPE), TYPE, MIN(old, v))                      \
  RMW(pure_amdgcn_ds_fmax_##S ORDERED(TYPE), TYPE, MAX(old, v))                      \
  RMW(pure_amdgcn_global_atomic_fadd_##S##_##S(TYPE* at, TYPE v), TYPE, old + v)     \
  RMW(pure_amdgcn_global_atomic_fmin_##S##_##S(TYPE* at, TYPE v), TYPE, MIN(old, v)) \
  RMW(pure_amdgcn_global_atomic_fmax_##S##_##S(TYPE* at, TYPE v), TYPE, MAX(old, v)) \
  RMW(pure_amdgcn_flat_atomic_fadd_##S##_##S(TYPE* at, TYPE v), TYPE, old + v)       \
  RMW(pure_amdgcn_flat_atomic_fmin_##S##_##S(TYPE* at, TYPE v), TYPE, MIN(old, v))   \
  RMW(pure_amdgcn_flat_atomic_fmax_##S##_##S(TYPE* at, TYPE v), TYPE, MAX(old, v))
FLOAT_ATOMICS(float, f32)
FLOAT_ATOMICS(double, f64)
RMW(pure_amdgcn_global_atomic_fadd_v2f16_v2f16(half2* at, half2 v), half2, old + v)
