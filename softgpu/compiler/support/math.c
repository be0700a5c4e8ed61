/* Floating-point instructions. Where the hardware approximates, these return the correctly
 * rounded result, which is within its error. */
#include "support.h"

#define PI 3.14159265358979323846

/* Bits of llvm.amdgcn.class's mask. */
enum {
  kSNan = 1,
  kQNan = 2,
  kNegInf = 4,
  kNegNormal = 8,
  kNegDenormal = 16,
  kNegZero = 32,
  kPosZero = 64,
  kPosDenormal = 128,
  kPosNormal = 256,
  kPosInf = 512
};

static inline uint32_t class_of(uint64_t bits, uint32_t exponent_bits, uint32_t mantissa_bits) {
  uint64_t mantissa = bits & ((1ull << mantissa_bits) - 1);
  uint64_t top = (1ull << exponent_bits) - 1;
  uint64_t exponent = bits >> mantissa_bits & top;
  bool negative = bits >> (exponent_bits + mantissa_bits) & 1;
  if (exponent == top && mantissa) return mantissa >> (mantissa_bits - 1) ? kQNan : kSNan;
  if (exponent == top) return negative ? kNegInf : kPosInf;
  if (exponent) return negative ? kNegNormal : kPosNormal;
  if (mantissa) return negative ? kNegDenormal : kPosDenormal;
  return negative ? kNegZero : kPosZero;
}

static inline uint16_t bits_f16(half v) { return __builtin_bit_cast(uint16_t, v); }
static inline uint32_t bits_f32(float v) { return __builtin_bit_cast(uint32_t, v); }
static inline uint64_t bits_f64(double v) { return __builtin_bit_cast(uint64_t, v); }

bool pure_amdgcn_class_f16(half v, uint32_t mask) { return class_of(bits_f16(v), 5, 10) & mask; }
bool pure_amdgcn_class_f32(float v, uint32_t mask) { return class_of(bits_f32(v), 8, 23) & mask; }
bool pure_amdgcn_class_f64(double v, uint32_t mask) { return class_of(bits_f64(v), 11, 52) & mask; }

/* Of a number and a NaN, the number; -0 is less than 0, as in v_min and v_max. */
#define EXTREME(NAME, TYPE, FIRST, SECOND)          \
  TYPE NAME(TYPE a, TYPE b) {                       \
    return a < b                          ? FIRST   \
           : b < a                        ? SECOND  \
           : a != a                       ? b       \
           : b != b                       ? a       \
           : __builtin_signbit((double)a) ? FIRST   \
                                          : SECOND; \
  }
#define EXTREMES(TYPE, SUFFIX)              \
  EXTREME(pure_minnum_##SUFFIX, TYPE, a, b) \
  EXTREME(pure_maxnum_##SUFFIX, TYPE, b, a)
EXTREMES(half, f16)
EXTREMES(float, f32)
EXTREMES(double, f64)
half2 pure_minnum_v2f16(half2 a, half2 b) {
  return (half2){pure_minnum_f16(a.x, b.x), pure_minnum_f16(a.y, b.y)};
}
half2 pure_maxnum_v2f16(half2 a, half2 b) {
  return (half2){pure_maxnum_f16(a.x, b.x), pure_maxnum_f16(a.y, b.y)};
}

/* v * 2^n, rounded once. Each step down is 2^-969, not 2^-1022: values that it makes subnormal
 * end as 0, so only the last multiplication rounds. */
double pure_amdgcn_ldexp_f64(double v, int32_t n) {
  for (int step = 0; step < 2 && n > 1023; step++) v *= 0x1p1023, n -= 1023;
  for (int step = 0; step < 2 && n < -1022; step++) v *= 0x1p-969, n += 969;
  n = n > 1023 ? 1023 : n < -1022 ? -1022 : n;
  return v * __builtin_bit_cast(double, (uint64_t)(1023 + n) << 52);
}
/* The product of a float and 2^n is exact in a double, unless it overflows one. */
float pure_amdgcn_ldexp_f32(float v, int32_t n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  return (float)((double)v * __builtin_bit_cast(double, (uint64_t)(1023 + n) << 52));
}
half pure_amdgcn_ldexp_f16(half v, int32_t n) {
  n = n < -60 ? -60 : n > 60 ? 60 : n;
  return (half)((float)v * __builtin_bit_cast(float, (uint32_t)(127 + n) << 23));
}

/* The hardware's frexp: 0, infinities and NaN are returned unchanged, with exponent 0. */
static inline bool is_special(uint32_t kind) {
  return kind & (kSNan | kQNan | kNegInf | kPosInf | kNegZero | kPosZero);
}
int32_t pure_amdgcn_frexp_exp_i32_f64(double v) {
  if (is_special(class_of(bits_f64(v), 11, 52))) return 0;
  int32_t shift = 0;
  if (!(bits_f64(v) >> 52 & 0x7ff)) v *= 0x1p54, shift = -54;
  return (int32_t)(bits_f64(v) >> 52 & 0x7ff) - 1022 + shift;
}
double pure_amdgcn_frexp_mant_f64(double v) {
  if (is_special(class_of(bits_f64(v), 11, 52))) return v;
  if (!(bits_f64(v) >> 52 & 0x7ff)) v *= 0x1p54;
  return __builtin_bit_cast(double, (bits_f64(v) & ~(0x7ffull << 52)) | 1022ull << 52);
}
int32_t pure_amdgcn_frexp_exp_i32_f32(float v) {
  return is_special(class_of(bits_f32(v), 8, 23)) ? 0 : pure_amdgcn_frexp_exp_i32_f64(v);
}
float pure_amdgcn_frexp_mant_f32(float v) { return (float)pure_amdgcn_frexp_mant_f64(v); }
int16_t pure_amdgcn_frexp_exp_i16_f16(half v) {
  return (int16_t)pure_amdgcn_frexp_exp_i32_f32((float)v);
}
half pure_amdgcn_frexp_mant_f16(half v) {
  return (half)pure_amdgcn_frexp_mant_f64((double)(float)v);
}

#define FRACT(TYPE, SUFFIX, FLOOR, BELOW_ONE)                    \
  TYPE pure_amdgcn_fract_##SUFFIX(TYPE v) {                      \
    TYPE f = v - (TYPE)FLOOR(v);                                 \
    return f < (TYPE)1 ? f : f >= (TYPE)1 ? (TYPE)BELOW_ONE : f; \
  }
FRACT(double, f64, __builtin_floor, 0x1.fffffffffffffp-1)
FRACT(float, f32, __builtin_floorf, 0x1.fffffep-1f)
FRACT(half, f16, __builtin_floorf, 0x1.ffcp-1f)

#define EACH(TYPE, S, SQRT, SIN, COS, LOG2)                                               \
  TYPE pure_amdgcn_rcp_##S(TYPE v) { return (TYPE)1 / v; }                                \
  TYPE pure_amdgcn_sqrt_##S(TYPE v) { return (TYPE)SQRT(v); }                             \
  TYPE pure_amdgcn_rsq_##S(TYPE v) { return (TYPE)1 / (TYPE)SQRT(v); }                    \
  TYPE pure_amdgcn_sin_##S(TYPE v) { return (TYPE)SIN((double)v * (2 * PI)); }            \
  TYPE pure_amdgcn_cos_##S(TYPE v) { return (TYPE)COS((double)v * (2 * PI)); }            \
  TYPE pure_amdgcn_exp2_##S(TYPE v) { return (TYPE)__builtin_exp2((double)v); }           \
  TYPE pure_amdgcn_log_##S(TYPE v) { return (TYPE)LOG2(v); }                              \
  TYPE pure_canonicalize_##S(TYPE v) { return v * (TYPE)1; }                              \
  TYPE pure_amdgcn_fmed3_##S(TYPE a, TYPE b, TYPE c) {                                    \
    if (a != a || b != b || c != c) {                                                     \
      TYPE m = a != a ? b : b != b ? a : a < b ? a : b;                                   \
      return m != m ? c : c != c ? m : m < c ? m : c;                                     \
    }                                                                                     \
    TYPE low = a < b ? a : b;                                                             \
    TYPE high = a < b ? b : a;                                                            \
    return c < low ? low : c > high ? high : c;                                           \
  }                                                                                       \
  /* div_scale, div_fmas and div_fixup are the steps of one division, whose last is given \
     both operands and so does it all. */                                                 \
  TYPE pure_amdgcn_div_scale_##S##_r0(TYPE n, TYPE d, bool numerator) {                   \
    return numerator ? n : d;                                                             \
  }                                                                                       \
  bool pure_amdgcn_div_scale_##S##_r1(TYPE n, TYPE d, bool numerator) { return false; }   \
  TYPE pure_amdgcn_div_fmas_##S(TYPE a, TYPE b, TYPE c, bool scale) { return a * b + c; } \
  TYPE pure_amdgcn_div_fixup_##S(TYPE q, TYPE d, TYPE n) { return n / d; }
EACH(double, f64, __builtin_sqrt, __builtin_sin, __builtin_cos, __builtin_log2)
EACH(float, f32, __builtin_sqrtf, __builtin_sin, __builtin_cos, __builtin_log2f)
EACH(half, f16, __builtin_sqrtf, __builtin_sin, __builtin_cos, __builtin_log2f)

float pure_amdgcn_fmul_legacy(float a, float b) { return a == 0 || b == 0 ? 0 : a * b; }
float pure_amdgcn_fma_legacy(float a, float b, float c) {
  return a == 0 || b == 0 ? c : __builtin_fmaf(a, b, c);
}
float pure_amdgcn_fdiv_fast(float a, float b) { return a / b; }
float pure_amdgcn_fmad_ftz_f32(float a, float b, float c) { return a * b + c; }

/* Float to half, rounded towards zero. */
static inline half to_half_rtz(float v) {
  half h = (half)v;
  float back = (float)h;
  if (v == v && __builtin_fabsf(back) > __builtin_fabsf(v))
    h = __builtin_bit_cast(half, (uint16_t)(bits_f16(h) - 1));
  return h;
}
half2 pure_amdgcn_cvt_pkrtz(float a, float b) { return (half2){to_half_rtz(a), to_half_rtz(b)}; }

static inline float to_range(float v, float low, float scale) {
  float c = v != v ? 0 : v < low ? low : v > 1 ? 1 : v;
  return __builtin_rintf(c * scale);
}
short2 pure_amdgcn_cvt_pknorm_i16(float a, float b) {
  return (short2){(int16_t)to_range(a, -1, 32767), (int16_t)to_range(b, -1, 32767)};
}
ushort2 pure_amdgcn_cvt_pknorm_u16(float a, float b) {
  return (ushort2){(uint16_t)to_range(a, 0, 65535), (uint16_t)to_range(b, 0, 65535)};
}

float pure_amdgcn_fdot2(half2 a, half2 b, float c, bool clamp) {
  float v = (float)a.x * (float)b.x + (float)a.y * (float)b.y + c;
  return !clamp ? v : v < 0 ? 0 : v > 1 ? 1 : v;
}

/* 53 bits of 2/pi from bit 53 * segment on, at their own magnitude: for the argument reduction
 * of large angles. */
static const uint64_t kTwoOverPi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
double pure_amdgcn_trig_preop_f64(double v, uint32_t segment) {
  uint32_t exponent = bits_f64(v) >> 52 & 0x7ff;
  uint32_t shift = (segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  uint32_t word = shift / 64;
  uint32_t bit = shift % 64;
  if (word >= 19) return 0;
  uint64_t bits = kTwoOverPi[word] << bit | (bit ? kTwoOverPi[word + 1] >> (64 - bit) : 0);
  int32_t scale = -53 - (int32_t)shift + (exponent >= 1968 ? 128 : 0);
  return pure_amdgcn_ldexp_f64((double)(bits >> 11), scale);
}
