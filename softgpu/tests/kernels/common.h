// What the generated kernels and the host programs that check them spell the same.
#pragma once

#include <stdint.h>

#ifdef __HIP__
#define BOTH __device__ inline
#else
#define BOTH inline
#endif

// Conversion of a float that may be out of range, or not a number.
template <class T, class F>
BOTH T to_int(F v) {
  if (!(v > F(-100))) return T(1);
  if (v > F(100)) return T(2);
  return T(int(v));
}

// What LLVM 15 gets wrong it gets wrong for GPUs, too. It does not look into memory.
template <class T>
BOTH T unseen(T value) {
  volatile T kept = value;
  return kept;
}

// It forgets to set the upper half of a number of 64 bits that was zero-extended, xor-ed with a
// constant whose upper half is all ones, and or-ed with another.
template <class T>
BOTH T flip(T a, T b) {
  return unseen(a) ^ b;
}

// It divides unsigned numbers that were sign-extended as if they had as few bits (-1 as a number of
// 64 bits by 85 as 2^32 by 85). And it never ends (SI Fold Operands) where a number of 64 bits is
// divided by one of which it knows the upper half, for instance one that was or-ed with a constant.
template <class T, char kOperation>
BOTH T divide(T dividend, T divisor) {
  const T a = unseen(dividend), b = sizeof(T) == 8 ? unseen(divisor) : divisor;
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return a;
  return kOperation == '/' ? T(a / b) : T(a % b);
}

// g++ 12 computes 0.0 - double(int) as -double(int), which for 0 is -0 instead of 0. Parameters
// hide where their values are from.
template <class F>
BOTH F f_sub(F a, F b) {
  return a - b;
}

// Not a number has many forms; one is compared.
BOTH uint64_t bits_of(float v) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, 4);
  return v != v ? 0x7fc00000u : bits;
}
BOTH uint64_t bits_of(double v) {
  uint64_t bits;
  __builtin_memcpy(&bits, &v, 8);
  return v != v ? 0x7ff8000000000000ull : bits;
}
template <class T>
BOTH uint64_t bits_of(T v) {
  return uint64_t(v);
}
