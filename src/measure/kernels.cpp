#include "measure/kernels.h"

namespace sonde::measure {

// Groups have 256 work items. Results are used in a way that never happens, so that no compiler can
// leave the work out. Chains of multiply-adds and of MFMAs are independent of each other: eight and
// four are enough to hide their latencies.
const char* const kKernelSource = R"hip(
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));

#define ROOF(name) extern "C" __global__ void __launch_bounds__(256) sonde_roof_##name

// Each element once.
ROOF(hbm)(const f4* from, f4* to, unsigned elements, unsigned) {
  f4 sum = {0, 0, 0, 0};
  const unsigned step = gridDim.x * 256;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < elements; i += step) sum += from[i];
  if (sum.x + sum.y + sum.z + sum.w == -1) *to = sum;
}

// `rounds` elements of a set that all groups share, which is a power of two.
__device__ void read_rounds(const f4* from, f4* to, unsigned elements, unsigned rounds,
                            unsigned first) {
  f4 sum = {0, 0, 0, 0};
  for (unsigned i = 0; i < rounds; i += 4) {
    sum += from[(first + i * 256) & (elements - 1)];
    sum += from[(first + i * 256 + 256) & (elements - 1)];
    sum += from[(first + i * 256 + 512) & (elements - 1)];
    sum += from[(first + i * 256 + 768) & (elements - 1)];
  }
  if (sum.x + sum.y + sum.z + sum.w == -1) *to = sum;
}
ROOF(l2)(const f4* from, f4* to, unsigned elements, unsigned rounds) {
  read_rounds(from, to, elements, rounds, blockIdx.x * 4096 + threadIdx.x);
}
ROOF(l1)(const f4* from, f4* to, unsigned elements, unsigned rounds) {
  read_rounds(from, to, elements, rounds, threadIdx.x);
}
ROOF(lds)(const f4* from, f4* to, unsigned, unsigned rounds) {
  __shared__ f4 tile[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += 256) tile[i] = from[i];
  __syncthreads();
  f4 sum = {0, 0, 0, 0};
  for (unsigned i = 0; i < rounds; i += 4) {
    sum += tile[(threadIdx.x + i) & 1023];
    sum += tile[(threadIdx.x + i + 256) & 1023];
    sum += tile[(threadIdx.x + i + 512) & 1023];
    sum += tile[(threadIdx.x + i + 768) & 1023];
  }
  if (sum.x + sum.y + sum.z + sum.w == -1) *to = sum;
}

// Eight multiply-adds for each round.
template <typename T>
__device__ void multiply_add(T x, T y, f4* to, unsigned rounds) {
  T a[8];
  for (int i = 0; i < 8; ++i) a[i] = x * (T)(i + 1);
  for (unsigned i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = a[k] * y + x;
  }
  T sum = a[0];
  for (int i = 1; i < 8; ++i) sum += a[i];
  *(T*)to = sum;
}
ROOF(fp32)(const f4* from, f4* to, unsigned, unsigned rounds) {
  multiply_add<float>(from[0].x + threadIdx.x, from[0].y, to + blockIdx.x * 256 + threadIdx.x,
                      rounds);
}
ROOF(fp64)(const f4* from, f4* to, unsigned, unsigned rounds) {
  multiply_add<double>(from[0].x + threadIdx.x, from[0].y, to + blockIdx.x * 256 + threadIdx.x,
                       rounds);
}
ROOF(fp16)(const f4* from, f4* to, unsigned, unsigned rounds) {
  const _Float16 x = (_Float16)(from[0].x + threadIdx.x), y = (_Float16)from[0].y;
  h2 a[8];
  for (int i = 0; i < 8; ++i) a[i] = h2{x, y};
  for (unsigned i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = a[k] * h2{y, y} + h2{x, x};
  }
  h2 sum = a[0];
  for (int i = 1; i < 8; ++i) sum += a[i];
  *(h2*)(to + blockIdx.x * 256 + threadIdx.x) = sum;
}

ROOF(i32)(const f4* from, f4* to, unsigned, unsigned rounds) {
  multiply_add<int>((int)from[0].x + (int)threadIdx.x, (int)from[0].y | 3,
                    to + blockIdx.x * 256 + threadIdx.x, rounds);
}
ROOF(i64)(const f4* from, f4* to, unsigned, unsigned rounds) {
  multiply_add<long>((long)from[0].x + threadIdx.x, (long)from[0].y | 3,
                     to + blockIdx.x * 256 + threadIdx.x, rounds);
}
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || \
    defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
// Four products of bytes and their sum in an instruction.
ROOF(i8)(const f4* from, f4* to, unsigned, unsigned rounds) {
  const int x = (int)from[0].x + (int)threadIdx.x, y = (int)from[0].y | 0x01010101;
  int a[8] = {};
  for (unsigned i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = __builtin_amdgcn_sdot4(x, y, a[k], false);
  }
  int sum = a[0];
  for (int i = 1; i < 8; ++i) sum += a[i];
  *(int*)(to + blockIdx.x * 256 + threadIdx.x) = sum;
}
#endif

// Four matrix instructions of a wave for each round.
#define MATRIX(name, Sum, expression)                                   \
  ROOF(name)(const f4* from, f4* to, unsigned, unsigned rounds) {       \
    Sum sum[4] = {};                                                    \
    const float x = from[threadIdx.x].x;                                \
    for (unsigned i = 0; i < rounds; ++i) {                             \
      _Pragma("unroll") for (int k = 0; k < 4; ++k) sum[k] = expression; \
    }                                                                   \
    float all = 0;                                                      \
    for (int k = 0; k < 4; ++k) all += (float)sum[k][0];                \
    to[blockIdx.x * 256 + threadIdx.x].x = all;                         \
  }

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || \
    defined(__gfx942__) || defined(__gfx950__)
#define HALVES h4{(_Float16)x, (_Float16)x, (_Float16)x, (_Float16)x}
MATRIX(mfma_f16, f16v, __builtin_amdgcn_mfma_f32_32x32x8f16(HALVES, HALVES, sum[k], 0, 0, 0))
MATRIX(mfma_f32, f16v, __builtin_amdgcn_mfma_f32_32x32x2f32(x, x, sum[k], 0, 0, 0))
#endif
#if defined(__gfx908__)
#define SHORTS s2{(short)x, (short)x}
MATRIX(mfma_bf16, f16v, __builtin_amdgcn_mfma_f32_32x32x4bf16(SHORTS, SHORTS, sum[k], 0, 0, 0))
#elif defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
    defined(__gfx950__)
#define SHORTS s4{(short)x, (short)x, (short)x, (short)x}
MATRIX(mfma_bf16, f16v, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(SHORTS, SHORTS, sum[k], 0, 0, 0))
MATRIX(mfma_f64, d4, __builtin_amdgcn_mfma_f64_16x16x4f64(x, x, sum[k], 0, 0, 0))
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
MATRIX(mfma_i8, i16v, __builtin_amdgcn_mfma_i32_32x32x8i8((int)x, (int)x, sum[k], 0, 0, 0))
#elif defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
MATRIX(mfma_i8_long, i16v,
       __builtin_amdgcn_mfma_i32_32x32x16_i8((long)x, (long)x, sum[k], 0, 0, 0))
#endif
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
MATRIX(mfma_f8, f16v,
       __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8((long)x, (long)x, sum[k], 0, 0, 0))
#endif
)hip";

}  // namespace sonde::measure
