/* Matrix products (MFMA). Each lane supplies its elements of A and B; all lanes see all of them,
 * and each computes its own elements of D = A x B + C. Products of a lane's elements are summed
 * in double and added with a single rounding, as the machine-code engine does. */
#include "support.h"

enum Kind { kSingle, kHalf, kBrain, kByte, kDouble };
typedef struct {
  enum Kind kind;
  uint32_t size, blocks, elements; /* of a block's side; elements of a lane */
} Shape;

static inline double element(enum Kind kind, uint64_t bits, uint32_t n) {
  switch (kind) {
    case kSingle:
      return __builtin_bit_cast(float, (uint32_t)bits);
    case kHalf:
      return __builtin_bit_cast(half, (uint16_t)(bits >> 16 * n));
    case kBrain:
      return __builtin_bit_cast(float, (uint32_t)(bits >> 16 * n << 16));
    case kByte:
      return (int8_t)(bits >> 8 * n);
    case kDouble:
      return __builtin_bit_cast(double, bits);
  }
  return 0;
}

/* BLGP: the lane whose element of B is used instead. */
static inline uint32_t moved(uint32_t lane, uint32_t pattern) {
  switch (pattern) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return 32 + lane % 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return (pattern - 4) * 16 + lane % 16;
  }
}

/* Block, row and column of a lane's n-th element of D. */
static inline void place(Shape s, uint32_t lane, uint32_t n, uint32_t* block, uint32_t* row,
                         uint32_t* column) {
  *column = lane % s.size;
  *block = s.size == 4 ? lane / 4 : n / (s.size * s.size / 64);
  if (s.kind == kDouble) {
    *block = s.size == 4 ? lane / 4 % 4 : 0;
    *row = s.size == 4 ? lane / 16 : 4 * n + lane / 16;
  } else if (s.size == 4) {
    *row = n;
  } else {
    uint32_t in_block = n % (s.size * s.size / 64);
    *row = in_block / 4 * (4 * 64 / s.size) + lane / s.size * 4 + in_block % 4;
  }
}

static inline double sum_of(Shape s, const Meeting* m, uint32_t block, uint32_t row,
                            uint32_t column, uint32_t cbsz, uint32_t abid, uint32_t blgp,
                            double sum) {
  uint32_t groups = 64 / (s.size * s.blocks);
  uint32_t shared = (1u << cbsz) - 1;
  uint32_t from = (block & ~shared) | (abid & shared);
  for (uint32_t g = 0; g < groups; g++) {
    uint32_t x = (g * s.blocks + from) * s.size + row;
    uint32_t y = (g * s.blocks + block) * s.size + column;
    double products = 0;
    if (s.kind == kDouble) {
      double a = element(kDouble, m->a[x], 0), b = element(kDouble, m->b[y], 0);
      sum = __builtin_fma(blgp & 1 ? -a : a, blgp & 2 ? -b : b, sum);
      continue;
    }
    for (uint32_t n = 0; n < s.elements; n++)
      products += element(s.kind, m->a[x], n) * element(s.kind, m->b[moved(y, blgp)], n);
    sum += products;
    if (s.kind != kByte) sum = (float)sum;
  }
  return sum;
}

/* NAME as in the intrinsic; the type of C and D, and how many of their elements a lane has. */
#define PRODUCT(NAME, FACTOR, SUM, COUNT, ...)                                                 \
  void lane_amdgcn_mfma_##NAME(Item* i, uint32_t site, FACTOR a, FACTOR b, SUM* sums,          \
                               uint32_t cbsz, uint32_t abid, uint32_t blgp) {                  \
    const Shape shape = {__VA_ARGS__};                                                         \
    const Meeting* m = meet(i, site, a, b);                                                    \
    for (uint32_t n = 0; n < COUNT; n++) {                                                     \
      uint32_t block, row, column;                                                             \
      place(shape, i->lane, n, &block, &row, &column);                                         \
      double start = shape.kind == kDouble && (blgp & 4) ? -(double)sums[n] : (double)sums[n]; \
      double made = sum_of(shape, m, block, row, column, cbsz, abid, blgp, start);             \
      sums[n] = shape.kind == kByte ? (SUM)(uint32_t)(int64_t)made : (SUM)made;                \
    }                                                                                          \
  }
PRODUCT(f32_32x32x1f32, uint32_t, float, 32, kSingle, 32, 2, 1)
PRODUCT(f32_16x16x1f32, uint32_t, float, 16, kSingle, 16, 4, 1)
PRODUCT(f32_4x4x1f32, uint32_t, float, 4, kSingle, 4, 16, 1)
PRODUCT(f32_32x32x2f32, uint32_t, float, 16, kSingle, 32, 1, 1)
PRODUCT(f32_16x16x4f32, uint32_t, float, 4, kSingle, 16, 1, 1)
PRODUCT(f32_32x32x4f16, uint64_t, float, 32, kHalf, 32, 2, 4)
PRODUCT(f32_16x16x4f16, uint64_t, float, 16, kHalf, 16, 4, 4)
PRODUCT(f32_4x4x4f16, uint64_t, float, 4, kHalf, 4, 16, 4)
PRODUCT(f32_32x32x8f16, uint64_t, float, 16, kHalf, 32, 1, 4)
PRODUCT(f32_16x16x16f16, uint64_t, float, 4, kHalf, 16, 1, 4)
PRODUCT(f32_32x32x2bf16, uint32_t, float, 32, kBrain, 32, 2, 2)
PRODUCT(f32_16x16x2bf16, uint32_t, float, 16, kBrain, 16, 4, 2)
PRODUCT(f32_4x4x2bf16, uint32_t, float, 4, kBrain, 4, 16, 2)
PRODUCT(f32_32x32x4bf16, uint32_t, float, 16, kBrain, 32, 1, 2)
PRODUCT(f32_16x16x8bf16, uint32_t, float, 4, kBrain, 16, 1, 2)
PRODUCT(f32_32x32x4bf16_1k, uint64_t, float, 32, kBrain, 32, 2, 4)
PRODUCT(f32_16x16x4bf16_1k, uint64_t, float, 16, kBrain, 16, 4, 4)
PRODUCT(f32_4x4x4bf16_1k, uint64_t, float, 4, kBrain, 4, 16, 4)
PRODUCT(f32_32x32x8bf16_1k, uint64_t, float, 16, kBrain, 32, 1, 4)
PRODUCT(f32_16x16x16bf16_1k, uint64_t, float, 4, kBrain, 16, 1, 4)
PRODUCT(i32_32x32x4i8, uint32_t, int32_t, 32, kByte, 32, 2, 4)
PRODUCT(i32_16x16x4i8, uint32_t, int32_t, 16, kByte, 16, 4, 4)
PRODUCT(i32_4x4x4i8, uint32_t, int32_t, 4, kByte, 4, 16, 4)
PRODUCT(i32_32x32x8i8, uint32_t, int32_t, 16, kByte, 32, 1, 4)
PRODUCT(i32_16x16x16i8, uint32_t, int32_t, 4, kByte, 16, 1, 4)
PRODUCT(f64_16x16x4f64, uint64_t, double, 4, kDouble, 16, 1, 1)

/* A single double is not a vector. */
double lane_amdgcn_mfma_f64_4x4x4f64(Item* i, uint32_t site, uint64_t a, uint64_t b, double c,
                                     uint32_t cbsz, uint32_t abid, uint32_t blgp) {
  const Shape shape = {kDouble, 4, 4, 1};
  const Meeting* m = meet(i, site, a, b);
  uint32_t block, row, column;
  place(shape, i->lane, 0, &block, &row, &column);
  return sum_of(shape, m, block, row, column, 0, 0, blgp, blgp & 4 ? -c : c);
}
